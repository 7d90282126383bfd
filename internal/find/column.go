package find

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
)

// column is a field of all records of a segment: the different values in order, and for each
// position the index of its value.
type column[K cmp.Ordered] struct {
	values []K
	codes  []uint16

	once   sync.Once
	starts []int32  // per value, where its positions start in sorted
	sorted []uint16 // positions by value, then by position
}

// newColumn makes a column of the values at each position.
func newColumn[K cmp.Ordered](at []K) *column[K] {
	values := slices.Clone(at)
	slices.Sort(values)
	c := &column[K]{values: slices.Compact(values), codes: make([]uint16, len(at))}
	index := make(map[K]uint16, len(c.values))
	for i, v := range c.values {
		index[v] = uint16(i)
	}
	for i, v := range at {
		c.codes[i] = index[v]
	}
	return c
}

// upTo returns the number of values that are not larger than v.
func (c *column[K]) upTo(v K) int {
	i, found := slices.BinarySearch(c.values, v)
	if found {
		i++
	}
	return i
}

// below returns the number of values that are smaller than v.
func (c *column[K]) below(v K) int {
	i, _ := slices.BinarySearch(c.values, v)
	return i
}

// positions returns the positions with a value, smallest first.
func (c *column[K]) positions(code int) []uint16 {
	c.once.Do(func() {
		c.starts = make([]int32, len(c.values)+1)
		for _, code := range c.codes {
			c.starts[code+1]++
		}
		for i := 1; i < len(c.starts); i++ {
			c.starts[i] += c.starts[i-1]
		}
		next := slices.Clone(c.starts)
		c.sorted = make([]uint16, len(c.codes))
		for i, code := range c.codes {
			c.sorted[next[code]] = uint16(i)
			next[code]++
		}
	})
	return c.sorted[c.starts[code]:c.starts[code+1]]
}

// counts returns how many of some positions have each value.
func (c *column[K]) counts(b bitmap) []int64 {
	counts := make([]int64, len(c.values))
	for at := range b.forward() {
		counts[c.codes[at]]++
	}
	return counts
}

// keep removes the positions whose value is not allowed.
func (c *column[K]) keep(b bitmap, allowed func(code uint16) bool) {
	for i := range b {
		if b[i] == 0 {
			continue
		}
		var fits uint64
		for j, code := range c.codes[i*64 : min(i*64+64, len(c.codes))] {
			if allowed(code) {
				fits |= 1 << j
			}
		}
		b[i] &= fits
	}
}

// within removes the positions whose value is not between two values.
func (c *column[K]) within(b bitmap, least, most K) {
	low, high := c.below(least), c.upTo(most)
	if low == 0 && high == len(c.values) {
		return
	}
	c.keep(b, func(code uint16) bool { return int(code) >= low && int(code) < high })
}

// matching returns which values fit.
func (c *column[K]) matching(fits func(K) bool) (list []bool, some bool) {
	list = make([]bool, len(c.values))
	for i, v := range c.values {
		list[i] = fits(v)
		some = some || list[i]
	}
	return list, some
}

// ErrCorrupt means that the parts of a segment do not fit together.
var ErrCorrupt = errors.New("a segment is corrupt")

// encodeColumn appends the values with put and then the codes, in one byte each if that is enough. Of a
// column with one value, only the number of codes is needed.
func encodeColumn[K cmp.Ordered](c *column[K], put func([]byte, []K) []byte) []byte {
	b := binary.AppendUvarint(nil, uint64(len(c.values)))
	b = put(b, c.values)
	if len(c.values) == 1 {
		return binary.AppendUvarint(b, uint64(len(c.codes)))
	}
	if len(c.values) <= 1<<8 {
		for _, code := range c.codes {
			b = append(b, byte(code))
		}
		return b
	}
	for _, code := range c.codes {
		b = binary.LittleEndian.AppendUint16(b, code)
	}
	return b
}

func decodeColumn[K cmp.Ordered](b []byte, take func(b []byte, values []K) ([]byte, error)) (*column[K], error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > 1<<16 {
		return nil, ErrCorrupt
	}
	c := &column[K]{values: make([]K, n)}
	b, err := take(b[size:], c.values)
	if err != nil {
		return nil, err
	}
	switch {
	case n == 1:
		count, size := binary.Uvarint(b)
		if size != len(b) || count > MaxSegment {
			return nil, ErrCorrupt
		}
		c.codes = make([]uint16, count)
	case n <= 1<<8:
		c.codes = make([]uint16, len(b))
		for i, code := range b {
			c.codes[i] = uint16(code)
		}
	default:
		c.codes = make([]uint16, len(b)/2)
		for i := range c.codes {
			c.codes[i] = binary.LittleEndian.Uint16(b[2*i:])
		}
	}
	if len(c.codes) > 0 && uint64(slices.Max(c.codes)) >= n {
		return nil, ErrCorrupt
	}
	return c, nil
}

// putNumbers appends ascending numbers as differences.
func putNumbers(b []byte, values []int64) []byte {
	last := int64(0)
	for _, v := range values {
		b = binary.AppendVarint(b, v-last)
		last = v
	}
	return b
}

func takeNumbers(b []byte, values []int64) ([]byte, error) {
	last := int64(0)
	for i := range values {
		delta, size := binary.Varint(b)
		if size <= 0 {
			return nil, ErrCorrupt
		}
		last += delta
		values[i], b = last, b[size:]
	}
	return b, nil
}

func putTexts(b []byte, values []string) []byte {
	for _, v := range values {
		b = append(binary.AppendUvarint(b, uint64(len(v))), v...)
	}
	return b
}

func takeTexts(b []byte, values []string) ([]byte, error) {
	all := string(b) // the values share it
	for i := range values {
		n, size := binary.Uvarint(b)
		if size <= 0 || uint64(len(b)-size) < n {
			return nil, ErrCorrupt
		}
		from := len(all) - len(b) + size
		values[i], b = all[from:from+int(n)], b[size+int(n):]
	}
	return b, nil
}
