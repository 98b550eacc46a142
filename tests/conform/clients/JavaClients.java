import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import net.rubyeye.xmemcached.GetsResponse;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.spy.memcached.BinaryConnectionFactory;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.DefaultConnectionFactory;
import net.spy.memcached.MemcachedClient;

/** spymemcached (text and binary) and xmemcached, each through its own round trips. */
public class JavaClients {
    interface Case {
        void run(InetSocketAddress server) throws Exception;
    }

    static void same(Object got, Object want) {
        if (got == null ? want != null : !got.equals(want)) {
            throw new AssertionError("got " + got + ", expected " + want);
        }
    }

    static byte[] large() {
        byte[] bytes = new byte[700000];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 31);
        }
        return bytes;
    }

    static void spy(MemcachedClient c, String key) throws Exception {
        same(c.set(key, 100, "v").get(), true);
        same(c.get(key), "v");
        same(c.set(key, 100, Arrays.asList(1, "two")).get(), true); // its flags say the type
        same(c.get(key), Arrays.asList(1, "two"));
        CASValue<Object> held = c.gets(key);
        same(c.cas(key, held.getCas(), "w"), CASResponse.OK);
        same(c.cas(key, held.getCas(), "x"), CASResponse.EXISTS);
        same(c.touch(key, 50).get(), true);
        same(c.add(key, 0, "x").get(), false);
        same(c.replace(key + "_none", 0, "x").get(), false);
        same(c.append(key, ">").get(), true);
        same(c.prepend(key, "<").get(), true);
        same(c.get(key), "<w>");
        same(c.set(key + "large", 0, large()).get(), true);
        same(Arrays.equals((byte[]) c.get(key + "large"), large()), true);
        same(c.incr(key + "n", 1, 41), 41L);
        same(c.incr(key + "n", 1), 42L);
        same(c.decr(key + "n", 100), 0L);
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            keys.add(key + i);
            c.set(key + i, 0, i);
        }
        Map<String, Object> found = c.getBulk(keys);
        same(found.size(), 1000);
        same(found.get(key + "999"), 999);
        same(c.delete(key).get(), true);
        same(c.get(key), null);
        same(c.getStats().values().iterator().next().containsKey("curr_items"), true);
        same(c.getVersions().size(), 1);
        c.shutdown();
    }

    static void xmemcached(InetSocketAddress server, boolean binary) throws Exception {
        XMemcachedClientBuilder builder = new XMemcachedClientBuilder(Arrays.asList(server));
        if (binary) {
            builder.setCommandFactory(new net.rubyeye.xmemcached.command.BinaryCommandFactory());
        }
        net.rubyeye.xmemcached.MemcachedClient c = builder.build();
        c.setOpTimeout(10000);
        String key = binary ? "xb" : "xt";
        same(c.set(key, 100, "v"), true);
        same(c.get(key), "v");
        GetsResponse<String> held = c.gets(key);
        same(c.cas(key, 100, "w", held.getCas()), true);
        same(c.cas(key, 100, "x", held.getCas()), false);
        same(c.touch(key, 50), true);
        if (binary) { // the library has it there only
            same(c.getAndTouch(key, 60), "w");
        }
        same(c.add(key, 0, "x"), false);
        same(c.append(key, ">"), true);
        same(c.get(key), "w>");
        same(c.set(key + "large", 0, large()), true);
        same(Arrays.equals((byte[]) c.get(key + "large"), large()), true);
        same(c.incr(key + "n", 5, 10), 10L);
        same(c.incr(key + "n", 5, 10), 15L);
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            keys.add(key + i);
            same(c.set(key + i, 0, i), true);
        }
        same(c.get(keys).size(), 500);
        same(c.delete(key), true);
        same(c.get(key), null);
        c.shutdown();
    }

    static void report(String name, InetSocketAddress server, Case run) {
        try {
            run.run(server);
            System.out.println("ok - " + name);
        } catch (Throwable fault) {
            System.out.println("not ok - " + name + "\n    " + fault);
            for (StackTraceElement at : fault.getStackTrace()) {
                if (at.getClassName().startsWith("JavaClients")) {
                    System.out.println("    at " + at);
                }
            }
        }
    }

    public static void main(String[] args) {
        InetSocketAddress server = new InetSocketAddress(args[0], Integer.parseInt(args[1]));
        report("spymemcached round trip", server, at -> spy(new MemcachedClient(
                new DefaultConnectionFactory() {
                    @Override
                    public long getOperationTimeout() {
                        return 10000;
                    }
                }, Arrays.asList(at)), "st"));
        report("spymemcached round trip, binary", server, at -> spy(new MemcachedClient(
                new BinaryConnectionFactory() {
                    @Override
                    public long getOperationTimeout() {
                        return 10000;
                    }
                }, Arrays.asList(at)), "sb"));
        report("xmemcached round trip", server, at -> xmemcached(at, false));
        report("xmemcached round trip, binary", server, at -> xmemcached(at, true));
        System.exit(0);
    }
}
