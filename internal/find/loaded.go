package find

import (
	"strings"
	"sync"

	"warranty.example/svc/warranty"
)

// only returns the range with one key.
func only(key string) Range { return Range{key, key + "\x00"} }

// prefixed returns the range of the keys with a prefix.
func prefixed(prefix string) Range {
	last := len(prefix) - 1
	return Range{prefix, prefix[:last] + string([]byte{prefix[last] + 1})}
}

// Segment is one version of a segment. Perhaps only some of its parts are loaded. It is safe for
// concurrent use.
type Segment struct {
	First warranty.ID
	Size  int

	mu       sync.Mutex
	loaded   map[Range]any
	selected map[string]*selection
	memory   int
}

// selection is the positions of a segment that a question selects, without regard to changes since. It is not changed.
type selection struct {
	bitmap
	count int
}

// maxSelections is the number of selections that a segment remembers.
const maxSelections = 8

// NewSegment returns a segment with nothing loaded.
func NewSegment(first warranty.ID, size int) *Segment {
	return &Segment{First: first, Size: size, loaded: map[Range]any{}, selected: map[string]*selection{}}
}

// selection returns a remembered selection, or nil.
func (s *Segment) selection(key string) *selection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.selected[key]
}

// remember keeps a selection, and forgets others, in no order, if there are too many.
func (s *Segment) remember(key string, found *selection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.selected[key] != nil {
		return
	}
	for other := range s.selected {
		if len(s.selected) < maxSelections {
			break
		}
		s.memory -= s.selected[other].memory(other)
		delete(s.selected, other)
	}
	s.selected[key] = found
	s.memory += found.memory(key)
}

func (s *selection) memory(key string) int { return 8*len(s.bitmap) + len(key) + 64 }

// Has reports whether a range of parts is loaded.
func (s *Segment) Has(r Range) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.loaded[r]
	return ok
}

// Load adds the parts of a range, in the order of their keys.
func (s *Segment) Load(r Range, parts [][]byte) error {
	decoded, err := decodeRange(r, parts)
	if err != nil {
		return err
	}
	if !s.fits(decoded) {
		return ErrCorrupt
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.loaded[r]; !ok {
		s.loaded[r] = decoded
		for _, data := range parts {
			s.memory += 2*len(data) + 64 // decoded columns are larger
		}
		if strings.HasPrefix(r.From, columnKey) {
			s.memory += 2 * s.Size
		}
	}
	return nil
}

// fits reports whether decoded parts have as many positions as the segment.
func (s *Segment) fits(decoded any) bool {
	size := s.Size
	switch d := decoded.(type) {
	case []byte:
		size = len(d)
	case *column[int64]:
		size = len(d.codes)
	case *column[string]:
		size = len(d.codes)
	case []*codes:
		size = 0
		for _, c := range d {
			size += len(c.ends)
		}
	}
	return size == s.Size
}

// Memory returns the approximate memory that the loaded parts take, in bytes.
func (s *Segment) Memory() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory + 256
}

func decodeRange(r Range, parts [][]byte) (any, error) {
	kind := r.From[:1]
	if kind == wordsKey {
		return parts, nil
	}
	if kind == codesKey {
		list := make([]*codes, 0, len(parts))
		for _, data := range parts {
			c, err := decodeCodes(data)
			if err != nil {
				return nil, err
			}
			list = append(list, c)
		}
		return list, nil
	}
	if len(parts) != 1 {
		return nil, ErrCorrupt
	}
	switch {
	case kind == flagsKey:
		return parts[0], nil
	case kind == headsKey, kind == idsKey:
		return decodeIDs(parts[0]), nil
	case numberColumns[r.From] != nil:
		return decodeColumn(parts[0], takeNumbers)
	}
	return decodeColumn(parts[0], takeTexts)
}

// get returns loaded parts.
func get[T any](s *Segment, r Range) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded[r].(T)
}

// Want is a range of parts of a segment.
