package find

import (
	"iter"
	"math/bits"
)

// bitmap is a set of positions in a segment.
type bitmap []uint64

func newBitmap(size int) bitmap { return make(bitmap, (size+63)/64) }

func (b bitmap) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitmap) clear(i int)    { b[i/64] &^= 1 << (i % 64) }
func (b bitmap) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

func (b bitmap) and(other bitmap) {
	for i := range b {
		b[i] &= other[i]
	}
}

func (b bitmap) or(other bitmap) {
	for i := range b {
		b[i] |= other[i]
	}
}

func (b bitmap) without(other bitmap) {
	for i := range b {
		b[i] &^= other[i]
	}
}

func (b bitmap) count() (n int) {
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

func (b bitmap) empty() bool {
	for _, word := range b {
		if word != 0 {
			return false
		}
	}
	return true
}

// anyIn reports whether the set has a position from from on and before to. Both are multiples of 64
// or the end.
func (b bitmap) anyIn(from, to int) bool { return !b[from/64 : (to+63)/64].empty() }

// backward yields the positions, largest first.
func (b bitmap) backward() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := len(b) - 1; i >= 0; i-- {
			for word := b[i]; word != 0; {
				top := 63 - bits.LeadingZeros64(word)
				word &^= 1 << top
				if !yield(i*64 + top) {
					return
				}
			}
		}
	}
}

// forward yields the positions, smallest first.
func (b bitmap) forward() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(i*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}
