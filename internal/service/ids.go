package service

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"warranty.example/svc/warranty"
)

// ids makes UUIDs of version 7. Replicas pass the database's time, because lists are in
// the order of ids.
type ids struct {
	mu   sync.Mutex
	last int64 // time of the newest id, in 1/4096 ms
}

// idDrift is how far ids can run ahead of a clock that was set back, to stay in order.
// Beyond that, they follow the clock.
const idDrift = 1000 << 12

// next returns an id greater than the previous one.
func (i *ids) next(now time.Time) warranty.ID {
	nanos := now.UnixNano()
	at := nanos/1e6<<12 + nanos%1e6>>8
	i.mu.Lock()
	if at <= i.last && i.last-at < idDrift {
		at = i.last + 1
	}
	i.last = at
	i.mu.Unlock()

	var id warranty.ID
	rand.Read(id[8:])
	binary.BigEndian.PutUint64(id[:8], uint64(at>>12)<<16|0x7000|uint64(at&0xFFF))
	id[8] = id[8]&0x3F | 0x80
	return id
}
