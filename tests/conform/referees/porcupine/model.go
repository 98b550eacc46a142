package main

import "strconv"

// A state of one key of a cache that may forget, but never lies. Two are equal if all fields are.
type state struct {
	present  bool
	value    string
	flags    uint64
	expiry   uint64 // second from which on it is dead; 0: never
	doomed   uint64 // second of a flush that takes it; 0: none
	cas      uint64 // its own if casKnown, else the least it can be; of an absent key that of the next version
	casKnown bool
	stale    bool
	won      bool
}

// A request, and what the cache answered.
type call struct {
	kind, result           string
	now                    uint64
	number, initial, flags uint64
	expiry                 uint64
	value, told            string
	toldNumber, toldFlags  uint64
	toldExpiry             uint64
	made, saidStale, noCas bool
	saidWon, saidExpiry    bool
}

const valueMost = 96

func (s state) alive(now uint64) bool {
	return s.present && (s.expiry == 0 || s.expiry > now)
}

func (s state) without() state {
	next := s.cas
	if s.present {
		next++
	}
	return state{cas: next}
}

// missed is the state after an answer that found nothing. What is dead to one core may live on another whose clock is
// behind.
func (s state) missed(now uint64) state {
	if s.alive(now) {
		return s.without()
	}
	return s
}

func (s state) stored(c *call, doomed uint64) state {
	after := s.without()
	return state{present: true, value: c.value, flags: c.flags, expiry: c.expiry, doomed: doomed, cas: after.cas}
}

func (s state) canBe(cas uint64) bool {
	if s.casKnown {
		return s.cas == cas
	}
	return cas >= s.cas
}

func (s state) canDiffer(cas uint64) bool {
	return !s.casKnown || s.cas != cas
}

func (s state) changed(value string) state {
	s.value, s.stale, s.won, s.casKnown = value, false, false, false
	s.cas++
	return s
}

// shown checks the item that an answer contains, and learns its cas.
func (s state) shown(c *call) (bool, state) {
	if s.value != c.told || s.flags != c.toldFlags || s.stale != c.saidStale {
		return false, s
	}
	if c.noCas {
		return true, s
	}
	if !s.canBe(c.toldNumber) {
		return false, s
	}
	s.cas, s.casKnown = c.toldNumber, true
	return true, s
}

// digits reads the number at the beginning of a value: up to its end or to a space.
func digits(value string) (uint64, bool) {
	end := 0
	for end < len(value) && value[end] >= '0' && value[end] <= '9' {
		end++
	}
	if end == 0 || end > 20 || (end < len(value) && value[end] != ' ') {
		return 0, false
	}
	n, err := strconv.ParseUint(value[:end], 10, 64)
	return n, err == nil
}

func (s state) counted(c *call) (bool, state) {
	n, is := digits(s.value)
	if c.result == "NOT_A_NUMBER" {
		return !is, s
	}
	if !is {
		return false, s
	}
	switch {
	case c.kind != "CALL_DECR":
		n += c.number
	case n < c.number:
		n = 0
	default:
		n -= c.number
	}
	text := strconv.FormatUint(n, 10)
	for len(text) < len(s.value) {
		text += " "
	}
	stale, won := s.stale, s.won
	s = s.changed(text)
	s.stale, s.won = stale, won
	return n == c.toldNumber, s
}

func (s state) extended(c *call) (bool, state) {
	fits := len(s.value)+len(c.value) <= valueMost
	if c.result == "TOO_LARGE" {
		return !fits, s
	}
	value := s.value + c.value
	if c.kind == "CALL_PREPEND" {
		value = c.value + s.value
	}
	return fits, s.changed(value)
}

// kept is the state after an answer of stale or empty: the item changed, or none for lack of memory.
func (s state) kept(c *call) (bool, state) {
	if c.result == "EXISTS" {
		return c.number != 0 && s.canDiffer(c.number), s
	}
	if c.number != 0 && !s.canBe(c.number) {
		return false, s
	}
	if c.number != 0 {
		s.cas, s.casKnown = c.number, true
	}
	if !c.made {
		return true, s.without()
	}
	value := s.value
	if c.kind == "CALL_EMPTY" {
		value, s.flags, s.expiry = "", 0, c.expiry
	}
	s = s.changed(value)
	s.stale = c.kind == "CALL_STALE"
	return s.shown(c)
}

func (s state) comparedAndStored(c *call) (bool, state) {
	if c.result == "EXISTS" {
		return s.canDiffer(c.number), s
	}
	if !s.canBe(c.number) {
		return false, s
	}
	after := s.stored(c, s.doomed)
	after.cas, after.casKnown = c.number+1, false
	return true, after
}

// late is a cas that may come after a newer version: its value is then stored, and is stale.
func (s state) late(c *call) (bool, state) {
	if c.result == "EXISTS" {
		return c.number == 0 || s.cas < c.number, s
	}
	after := s.stored(c, s.doomed)
	if !c.saidStale {
		after.cas = c.number + 1
		if !s.canBe(c.number) {
			return false, s
		}
		return after.shown(c)
	}
	if c.number == 0 || (s.casKnown && s.cas <= c.number) {
		return false, s
	}
	if !s.casKnown && after.cas < c.number+2 {
		after.cas = c.number + 2
	}
	after.expiry, after.stale, after.won = s.expiry, true, s.won
	return after.shown(c)
}

// looked is the state after an answer that shows the item and may change what is noted beside its value.
func (s state) looked(c *call) (bool, state) {
	ok, after := s.shown(c)
	switch {
	case !ok:
		return false, s
	case c.kind == "CALL_TOUCH":
		after.expiry = c.expiry
	case c.kind == "CALL_WIN":
		if c.saidWon && s.won {
			return false, s
		}
		after.won = s.won || c.saidWon
	case c.saidExpiry && c.toldExpiry != s.expiry:
		return false, s
	}
	return true, after
}

// appendedOrBegun: the value shows which of the two was done.
func (s state) appendedOrBegun(c *call) (bool, state) {
	if c.result != "OK" {
		if !s.alive(c.now) {
			return false, s
		}
		return s.extended(c)
	}
	if s.alive(c.now) {
		if ok, after := s.extended(c); ok {
			if ok, after = after.shown(c); ok {
				return true, after
			}
		}
	}
	return s.missed(c.now).stored(c, 0).shown(c)
}

func (s state) countedOrBegun(c *call) (bool, state) {
	if !c.made || c.result != "OK" {
		if !s.alive(c.now) {
			return false, s
		}
		return s.counted(c)
	}
	after := s.missed(c.now).stored(c, 0)
	after.value, after.flags = strconv.FormatUint(c.initial, 10), 0
	return c.toldNumber == c.initial, after
}

// step is true if the cache, in this state, can answer so.
func (s state) step(c *call) (bool, state) {
	if c.result == "NO_MEMORY" {
		return true, s
	}
	switch c.kind {
	case "CALL_TIME":
		if s.doomed != 0 && s.doomed <= c.now {
			return true, s.without()
		}
		return true, s
	case "CALL_FLUSH":
		if c.expiry <= c.now {
			return true, s.without()
		}
		if s.present {
			s.doomed = c.expiry
		}
		return true, s
	case "CALL_SET":
		return true, s.stored(c, 0)
	case "CALL_ADD":
		if c.result == "NOT_STORED" {
			return s.alive(c.now), s
		}
		return true, s.missed(c.now).stored(c, 0)
	case "CALL_COUNT":
		return s.countedOrBegun(c)
	case "CALL_EXTEND":
		return s.appendedOrBegun(c)
	}
	if c.result == "NOT_FOUND" || c.result == "NOT_STORED" {
		return true, s.missed(c.now)
	}
	if !s.alive(c.now) {
		return false, s
	}
	return s.found(c)
}

// found is the answer of a call that needs an item, which is there.
func (s state) found(c *call) (bool, state) {
	switch c.kind {
	case "CALL_GET", "CALL_TOUCH", "CALL_WIN":
		return s.looked(c)
	case "CALL_REPLACE":
		return true, s.stored(c, s.doomed)
	case "CALL_CAS":
		return s.comparedAndStored(c)
	case "CALL_APPEND", "CALL_PREPEND":
		return s.extended(c)
	case "CALL_INCR", "CALL_DECR":
		return s.counted(c)
	case "CALL_DELETE":
		return true, s.without()
	case "CALL_DELETE_CAS":
		if c.result == "EXISTS" {
			return s.canDiffer(c.number), s
		}
		if !s.canBe(c.number) {
			return false, s
		}
		s.cas = c.number
		return true, s.without()
	case "CALL_STALE", "CALL_EMPTY":
		return s.kept(c)
	case "CALL_LATE":
		return s.late(c)
	}
	return false, s
}
