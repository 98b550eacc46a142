// histories judges the histories of keys that tests/stress/history.c has kept, by porcupine and a model of its own, and
// compares: histories [-s SECONDS] FILE... A history that takes longer than the seconds is undecided. Where the judge of
// tests/stress ran out of places ("unsure"), porcupine decides alone. The last line is "N passed, N failed".
package main

import (
	"bufio"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	made = 1 << iota
	stale
	noCas
	won
	expiry
)

const fields = 16

var model = porcupine.Model{
	Init: func() interface{} { return state{} },
	Step: func(at, input, output interface{}) (bool, interface{}) {
		return at.(state).step(input.(*call))
	},
}

// A history with the verdict of tests/stress.
type history struct {
	verdict    string
	operations []porcupine.Operation
}

func number(word string) uint64 {
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func text(word string) string {
	if word == "-" {
		return ""
	}
	bytes, err := hex.DecodeString(word)
	if err != nil {
		panic(err)
	}
	return string(bytes)
}

// tick is the time of a return. One that never came has half of all numbers before it.
func tick(word string) int64 {
	n := number(word)
	if n >= 1<<62 {
		return 1<<62 + int64(n&(1<<32-1))
	}
	return int64(n)
}

func operation(line string) porcupine.Operation {
	w := strings.Fields(line)
	if len(w) != fields {
		panic("not a call: " + line)
	}
	marks := number(w[13])
	c := &call{kind: w[4], result: w[5], now: number(w[3]), number: number(w[6]), initial: number(w[7]), flags: number(w[8]),
		expiry: number(w[9]), value: text(w[10]), toldNumber: number(w[11]), toldFlags: number(w[12]), toldExpiry: number(w[14]),
		told: text(w[15]), made: marks&made != 0, saidStale: marks&stale != 0, noCas: marks&noCas != 0,
		saidWon: marks&won != 0, saidExpiry: marks&expiry != 0}
	return porcupine.Operation{ClientId: int(number(w[2])), Input: c, Call: int64(number(w[0])), Return: tick(w[1])}
}

func read(path string) []history {
	file, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	var found []history
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); words[0] == "history" {
			found = append(found, history{verdict: words[1]})
			continue
		}
		last := &found[len(found)-1]
		last.operations = append(last.operations, operation(lines.Text()))
	}
	return found
}

func main() {
	seconds := flag.Float64("s", 5, "longest time of a history")
	flag.Parse()
	said := map[string]int{}
	failed, calls := 0, 0
	for _, path := range flag.Args() {
		for n, h := range read(path) {
			calls += len(h.operations)
			verdict := porcupine.CheckOperationsTimeout(model, h.operations, time.Duration(*seconds*float64(time.Second)))
			said[h.verdict+", porcupine "+string(verdict)]++
			lies := verdict == porcupine.Illegal
			if verdict != porcupine.Unknown && h.verdict != "unsure" && lies != (h.verdict == "lie") || h.verdict == "unsure" && lies {
				failed++
				fmt.Printf("not ok - %s, history %d of %d calls: %s, porcupine says %s\n", path, n, len(h.operations), h.verdict, verdict)
			}
		}
	}
	total := 0
	for words, count := range said {
		total += count
		fmt.Printf("%s: %d\n", words, count)
	}
	fmt.Printf("%d histories, %d calls\n%d passed, %d failed\n", total, calls, total-failed, failed)
	if failed != 0 || total == 0 {
		os.Exit(1)
	}
}
