package operate

import (
	"errors"
	"testing"
)

// TestLittleSpace judges disks.
func TestLittleSpace(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		free         []uint64
		fails, warns bool
	}{
		{[]uint64{2 * gib}, false, false},
		{[]uint64{2*gib - 1}, false, true},
		{[]uint64{256 << 20}, false, true},
		{[]uint64{256<<20 - 1}, true, false},
		{[]uint64{0}, true, false},
		{[]uint64{5 * gib, gib}, false, true},
		{[]uint64{gib, 5 * gib}, false, true},
		{[]uint64{1, gib}, true, false},
		{[]uint64{gib, 1}, true, false},
	} {
		var err error
		for _, free := range c.free {
			err = worse(err, free)
		}
		var little warning
		warns := errors.As(err, &little)
		if fails := err != nil && !warns; fails != c.fails || warns != c.warns {
			t.Errorf("%d: %v", c.free, err)
		}
	}
}
