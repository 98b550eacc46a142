-- zones.lua - two zones of appliances behind memcached's proxy, with its route library. README.md beside it says
-- what each route promises. One proxy in each zone, started with the zone's name:
--
--   ZONE=a memcached -U 0 -o proxy_config=routelib:/etc/clockoo/every.lua,proxy_arg=/etc/clockoo/zones.lua

local_zone_from_env("ZONE")

settings{
    backend_connect_timeout = 0.2,
    backend_read_timeout = 0.4,
    backend_retry_waittime = 1,
    backend_failure_limit = 3,
}

pools{
    set_main = {
        a = { backends = { "10.1.0.1:11211", "10.1.0.2:11211" } },
        b = { backends = { "10.2.0.1:11211", "10.2.0.2:11211" } },
    },
    shadow = { backends = { "10.3.0.1:11211" } },
}

-- A write is acknowledged when both zones have acknowledged it.
local function write()
    return route_every{ children = "set_main" }
end

-- A read asks the zone of this proxy, and the other zone after a miss or an error.
local function read()
    return route_zfailover{ children = "set_main", miss = true, stats = true }
end

local function commands(write_route)
    return cmdmap{ all = write_route, get = read(), gets = read(), mg = read() }
end

routes{
    map = {
        -- Counters, locks and cas need one place: zone a has them, for both zones.
        one = route_direct{ child = "set_main_a" },
        -- What may differ between zones, or can be made again cheaply.
        own = route_direct{ child = "set_main_" .. local_zone() },
        -- Writes are copied to the shadow pool, whose answers nobody waits for.
        try = commands(route_split{ child_a = write(), child_b = "shadow" }),
    },
    cmap = { get = read(), gets = read(), mg = read() },
    default = write(),
}
