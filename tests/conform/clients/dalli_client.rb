# Ruby's dalli, in both protocols that it speaks, through a round trip each. Prints a line a case; the server is the
# argument.
require 'dalli'

LARGE = (0..255).map(&:chr).join.b * 3000 # 768 kB of every byte

def same(got, want)
  raise "got #{got.inspect[0, 100]}, expected #{want.inspect[0, 100]}" unless got == want
end

def round_trip(server, protocol)
  c = Dalli::Client.new(server, protocol: protocol, socket_timeout: 10, expires_in: 100)
  key = "dalli_#{protocol}"
  ['text', 42, [1, { 'a' => nil }], LARGE].each do |value|
    c.set(key, value)
    same(c.get(key), value)
  end
  c.add(key, 'x') # false or 0, by the protocol
  c.replace("#{key}_none", 'x')
  same([c.get(key), c.get("#{key}_none")], [LARGE, nil])
  c.set(key, 'v', 100, raw: true)
  same(c.append(key, '>') && c.prepend(key, '<'), true)
  same(c.get(key, raw: true), '<v>')
  value, cas = c.get_cas(key)
  same(c.set_cas(key, 'new', cas) != false, true)
  same(c.set_cas(key, 'newer', cas), false)
  same(c.cas(key) { |was| was + '!' } != false, true)
  same(c.get(key), 'new!')
  same(c.touch(key, 50), true)
  same(c.gat(key, 50), 'new!')
  names = (0...300).map { |i| "#{key}#{i}" }
  c.multi { names.each { |name| c.set(name, name) } }
  same(c.get_multi(*names), names.to_h { |name| [name, name] })
  c.delete("#{key}n")
  same([c.incr("#{key}n", 1, 100, 41), c.incr("#{key}n", 1), c.decr("#{key}n", 2)], [41, 42, 40])
  same([c.delete(key), c.get(key)], [true, nil])
  same(c.stats.values[0]['curr_items'].to_i >= 300, true)
  c.close
end

%i[binary meta].each do |protocol|
  round_trip(ARGV[0], protocol)
  puts "ok - dalli #{protocol} round trip"
rescue StandardError => e
  puts "not ok - dalli #{protocol} round trip", "    #{e.full_message(highlight: false).gsub("\n", "\n    ")}"
end
