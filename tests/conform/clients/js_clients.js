// memjs (binary protocol) and memcached (text) from npm, each through its own round trips. Prints a
// line a case; the server is the argument.
const assert = require('assert');
const { promisify } = require('util');
const memjs = require('memjs');
const Memcached = require('memcached');

const server = process.argv[2];
const large = Buffer.alloc(300000, Buffer.from([0, 13, 10, 255, 65]));

async function memjsRoundTrip() {
  const c = memjs.Client.create(server, { timeout: 10, retries: 0 });
  assert.strictEqual(await c.set('js', 'v', { expires: 100 }), true);
  assert.strictEqual((await c.get('js')).value.toString(), 'v');
  assert.strictEqual(await c.add('js', 'x', {}), false);
  assert.strictEqual(await c.replace('js_none', 'x', {}), false);
  assert.strictEqual(await c.append('js', '>'), true);
  assert.strictEqual((await c.get('js')).value.toString(), 'v>');
  assert.strictEqual(await c.touch('js', 50), true);
  assert.strictEqual(await c.set('js large', large, {}), true); // a key no line of text could bear
  assert.ok((await c.get('js large')).value.equals(large));
  assert.strictEqual((await c.increment('jsn', 1, { initial: 41 })).value, 41);
  assert.strictEqual((await c.increment('jsn', 1, {})).value, 42);
  assert.strictEqual((await c.decrement('jsn', 2, {})).value, 40);
  await Promise.all([...Array(500).keys()].map((i) => c.set(`js${i}`, String(i), {})));
  const all = await Promise.all([...Array(500).keys()].map((i) => c.get(`js${i}`)));
  all.forEach((got, i) => assert.strictEqual(got.value.toString(), String(i)));
  assert.strictEqual(await c.delete('js'), true);
  assert.strictEqual(await c.delete('js'), false);
  assert.strictEqual((await c.get('js')).value, null);
  c.close();
}

async function memcachedRoundTrip() {
  const c = new Memcached(server, { timeout: 10000, maxValue: 1048576 });
  const call = (name, ...args) => promisify(c[name]).call(c, ...args);
  for (const value of ['text', 42, { a: [1, null] }, large])  { // its flags say the type
    assert.strictEqual(await call('set', 'jm', value, 100), true);
    assert.deepStrictEqual(await call('get', 'jm'), value);
  }
  const { cas } = await call('gets', 'jm');
  assert.strictEqual(await call('cas', 'jm', '1', cas, 100), true);
  assert.strictEqual(await call('cas', 'jm', '2', cas, 100), false);
  assert.strictEqual(await call('touch', 'jm', 50), true);
  assert.strictEqual(await call('incr', 'jm', 41), 42);
  assert.strictEqual(await call('decr', 'jm', 2), 40);
  await assert.rejects(call('add', 'jm', 'x', 0));
  const keys = [...Array(500).keys()].map((i) => `jm${i}`);
  await Promise.all(keys.map((key, i) => call('set', key, i, 0)));
  const all = await call('getMulti', keys);
  keys.forEach((key, i) => assert.strictEqual(all[key], i));
  assert.strictEqual(await call('del', 'jm'), true);
  assert.strictEqual(await call('get', 'jm'), undefined);
  assert.ok((await call('stats'))[0].curr_items >= 500);
  assert.ok((await call('settings'))[0].maxconns > 0);
  assert.ok((await call('slabs'))[0]);
  assert.ok((await call('items'))[0]);
  assert.strictEqual((await call('version'))[0].major !== undefined, true);
  c.end();
}

async function main() {
  for (const [name, run] of [['memjs', memjsRoundTrip], ['npm memcached', memcachedRoundTrip]]) {
    try {
      await run();
      console.log(`ok - ${name} round trip`);
    } catch (fault) {
      console.log(`not ok - ${name} round trip\n    ${fault && fault.stack}`);
    }
  }
  process.exit(0);
}

main();
