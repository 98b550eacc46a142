-- every.lua - a route for memcached's proxy: a request goes to every child, and each must acknowledge it. The
-- library's own allsync answers STORED in memcached 1.6.38 although a child failed.

register_route_handlers({ "every" })

function route_every_conf(t)
    return t
end

function route_every_start(a, ctx, fgen)
    local handles = {}
    for _, child in pairs(a.children) do
        table.insert(handles, fgen:new_handle(child))
    end
    fgen:ready({ a = handles, n = ctx:label(), f = route_every_f })
end

function route_every_f(rctx, handles)
    return function(r)
        rctx:enqueue(r, handles)
        rctx:wait_cond(#handles, mcp.WAIT_ANY)
        local answer = nil
        for i = 1, #handles do
            local res = rctx:res_ok(handles[i])
            if res == nil then
                return "SERVER_ERROR a zone did not acknowledge\r\n"
            end
            -- DELETED of one child is the answer, though another had no such key.
            if answer == nil or res:hit() then
                answer = res
            end
        end
        return answer
    end
end
