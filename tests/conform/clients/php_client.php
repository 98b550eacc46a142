<?php
// PHP's memcached extension, which stands on libmemcached, in both protocols. Prints a line a case; HOST and PORT are the
// arguments.

function same($got, $want)
{
    if ($got !== $want) {
        throw new Exception('got ' . substr(var_export($got, true), 0, 100) . ', expected ' . substr(var_export($want, true), 0, 100));
    }
}

function round_trip($host, $port, $binary)
{
    $c = new Memcached();
    $c->setOptions([Memcached::OPT_BINARY_PROTOCOL => $binary, Memcached::OPT_COMPRESSION => false, Memcached::OPT_TCP_NODELAY => true]);
    $c->addServer($host, $port);
    $key = $binary ? 'php_binary' : 'php_text';
    $large = str_repeat(implode('', array_map('chr', range(0, 255))), 3000); // 768 kB of every byte
    foreach (['text', 42, 3.5, true, ['a' => [1, null]], $large] as $value) {
        same($c->set($key, $value, 100), true);
        same($c->get($key), $value);
    }
    same($c->add($key, 'x'), false);
    same($c->getResultCode(), $binary ? Memcached::RES_DATA_EXISTS : Memcached::RES_NOTSTORED);
    same($c->replace("{$key}_none", 'x'), false);
    same($c->set($key, 'v'), true);
    same([$c->append($key, '>'), $c->prepend($key, '<'), $c->get($key)], [true, true, '<v>']);
    $item = $c->get($key, null, Memcached::GET_EXTENDED);
    same($c->cas($item['cas'], $key, 'new'), true);
    same($c->cas($item['cas'], $key, 'newer'), false);
    same($c->getResultCode(), Memcached::RES_DATA_EXISTS);
    same($c->touch($key, 50), true);
    $many = [];
    for ($i = 0; $i < 300; $i++) {
        $many["$key$i"] = $i;
    }
    same($c->setMulti($many, 100), true);
    $got = $c->getMulti(array_keys($many), Memcached::GET_PRESERVE_ORDER);
    same($got, $many);
    $c->set("{$key}n", 41);
    same([$c->increment("{$key}n"), $c->decrement("{$key}n", 2)], [42, 40]);
    same([$c->delete($key), $c->delete($key), $c->get($key)], [true, false, false]);
    same(count($c->deleteMulti(array_keys($many))), 300);
    same(current($c->getStats())['curr_items'] >= 1, true);
    same(preg_match('/^\d+\.\d+/', current($c->getVersion())), 1);
    $c->quit();
}

foreach (['text' => false, 'binary' => true] as $name => $binary) {
    try {
        round_trip($argv[1], (int)$argv[2], $binary);
        echo "ok - php-memcached $name round trip\n";
    } catch (Throwable $fault) {
        echo "not ok - php-memcached $name round trip\n    ", str_replace("\n", "\n    ", (string)$fault), "\n";
    }
}
