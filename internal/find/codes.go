package find

import (
	"encoding/binary"
	"slices"
	"strings"
)

// codes are the codes of a chunk, separated by lines.
type codes struct {
	text string
	ends []uint32 // of each record, after its line
}

func (c *codes) at(i int) string {
	from := uint32(0)
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.text[from : c.ends[i]-1]
}

// find sets the positions, from first on, whose codes contain a word.
func (c *codes) find(b bitmap, first int, word string) {
	for from := 0; ; {
		i := strings.Index(c.text[from:], word)
		if i < 0 {
			return
		}
		at, exact := slices.BinarySearch(c.ends, uint32(from+i))
		if exact {
			at++
		}
		b.set(first + at)
		from = int(c.ends[at])
	}
}

func encodeCodes(list []string) []byte {
	b := binary.AppendUvarint(nil, uint64(len(list)))
	for _, text := range list {
		b = binary.AppendUvarint(b, uint64(len(text)))
	}
	for _, text := range list {
		b = append(append(b, text...), '\n')
	}
	return b
}

func decodeCodes(b []byte) (*codes, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > chunk {
		return nil, ErrCorrupt
	}
	b = b[size:]
	c := &codes{ends: make([]uint32, n)}
	end := uint32(0)
	for i := range c.ends {
		length, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, ErrCorrupt
		}
		b = b[size:]
		end += uint32(length) + 1
		c.ends[i] = end
	}
	if uint32(len(b)) != end {
		return nil, ErrCorrupt
	}
	c.text = string(b)
	return c, nil
}
