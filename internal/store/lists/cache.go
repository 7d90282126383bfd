package lists

import (
	"warranty.example/svc/internal/find"
	"warranty.example/svc/warranty"
)

type segmentID struct{ list, number int64 }

// segment is a version of a segment in the cache.
type segment struct {
	*find.Segment
	version int64
	memory  int // its share of Index.memory
}

// get returns a version of a segment. Other versions are forgotten.
func (x *Index) get(key segmentID, version int64, first warranty.ID, size int) *segment {
	x.mu.Lock()
	defer x.mu.Unlock()
	if entry := x.entries[key]; entry != nil {
		if entry.version == version {
			return entry
		}
		x.forget(key, entry)
	}
	entry := &segment{Segment: find.NewSegment(first, size), version: version}
	x.entries[key] = entry
	return entry
}

func (x *Index) forget(key segmentID, entry *segment) {
	delete(x.entries, key)
	x.memory -= entry.memory
	for list, latest := range x.latest {
		if latest.state.list == key.list {
			delete(x.latest, list) // it would keep the segment in memory
		}
	}
}

// resize updates the memory of segments and evicts others, in no order, while the cache is too large.
func (x *Index) resize(entries map[segmentID]*segment) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, entry := range entries {
		if x.entries[key] == entry {
			memory := entry.Memory()
			x.memory += memory - entry.memory
			entry.memory = memory
		}
	}
	for key, entry := range x.entries {
		if x.memory <= x.Limits.Memory {
			return
		}
		x.forget(key, entry)
	}
}
