// gomemcache (bradfitz) through its own round trips. Prints a line a case; the server is the argument.
package main

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

func same(got, want any) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		panic(fmt.Sprintf("got %.100v, expected %.100v", got, want))
	}
}

func roundTrip(c *memcache.Client) {
	same(c.Set(&memcache.Item{Key: "go", Value: []byte("v"), Flags: 77, Expiration: 100}), nil)
	it, err := c.Get("go")
	same(err, nil)
	same(string(it.Value), "v")
	same(it.Flags, 77)
	it.Value = []byte("w")
	same(c.CompareAndSwap(it), nil)
	same(c.CompareAndSwap(it), memcache.ErrCASConflict)
	same(c.Add(&memcache.Item{Key: "go", Value: []byte("x")}), memcache.ErrNotStored)
	same(c.Replace(&memcache.Item{Key: "go_none", Value: []byte("x")}), memcache.ErrNotStored)
	same(c.Append(&memcache.Item{Key: "go", Value: []byte(">")}), nil)
	same(c.Prepend(&memcache.Item{Key: "go", Value: []byte("<")}), nil)
	it, err = c.GetAndTouch("go", 50)
	same(err, nil)
	same(string(it.Value), "<w>")
	same(c.Touch("go", 60), nil)
	same(c.Touch("go_none", 60), memcache.ErrCacheMiss)

	large := bytes.Repeat([]byte("large\r\n\x00\xff"), 80000)
	same(c.Set(&memcache.Item{Key: "go_\xff\xfe", Value: large}), nil)
	it, err = c.Get("go_\xff\xfe")
	same(err, nil)
	same(bytes.Equal(it.Value, large), true)

	var keys []string
	for i := 0; i < 1000; i++ {
		key := fmt.Sprintf("go%d", i)
		keys = append(keys, key)
		same(c.Set(&memcache.Item{Key: key, Value: []byte(fmt.Sprint(i))}), nil)
	}
	found, err := c.GetMulti(append(keys, "go_none"))
	same(err, nil)
	same(len(found), 1000)
	same(string(found["go999"].Value), "999")
	n, err := c.Increment("go41", 1)
	same(err, nil)
	same(n, 42)
	n, err = c.Decrement("go41", 100)
	same(err, nil)
	same(n, 0)
	same(c.Delete("go41"), nil)
	same(c.Delete("go41"), memcache.ErrCacheMiss)
	_, err = c.Increment("go41", 1)
	same(err, memcache.ErrCacheMiss)
	same(c.Ping(), nil)
}

func main() {
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Println("not ok - gomemcache round trip\n   ", fault)
		}
	}()
	c := memcache.New(os.Args[1])
	c.Timeout = 10 * time.Second
	roundTrip(c)
	fmt.Println("ok - gomemcache round trip")
}
