package find

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// A segment is an index of a range of a list: up to MaxSegment records in the order of their ids. It
// consists of parts, each with a key, so that a question reads only those that it needs:
//
//	f              per position the roles, the stored status and whether a claim is open; 0 if it is empty
//	h              the first id of each chunk
//	i + chunk      ids
//	t + chunk      codes
//	c + column     a column
//	w + two runes  the words that begin with them, each with its positions
//
// A record that left the list leaves an empty position, so that the others stay where they are.

// MaxSegment is the largest number of positions in a segment.
const MaxSegment = 1 << 14

// chunk is the number of ids or codes in one part. It is a multiple of 64.
const chunk = 512

const (
	flagsKey  = "f"
	headsKey  = "h"
	idsKey    = "i"
	codesKey  = "t"
	columnKey = "c"
	wordsKey  = "w"
)

// The columns.
const (
	startColumn    = columnKey + "a"
	endColumn      = columnKey + "e"
	updatedColumn  = columnKey + "u"
	nameColumn     = columnKey + "n" // folded
	categoryColumn = columnKey + "c"
	supplierColumn = columnKey + "s"
	sellerColumn   = columnKey + "v"
	emailColumn    = columnKey + "m"
)

// The bits of a position's flags. The lowest three are the roles, the next two the stored status.
const (
	statusShift = 3
	openFlag    = 1 << 5
	liveFlag    = 1 << 7
)

func flagsOf(r *Record) byte {
	flags := byte(liveFlag | r.Roles.Mask() | warranty.EnumNumber(r.Standing)<<statusShift)
	if r.OpenClaim {
		flags |= openFlag
	}
	return flags
}

// Parts are the parts of a segment by key.
type Parts map[string][]byte

// Change is the current state of a record. Record is nil if the list does not contain it anymore.
type Change struct {
	ID     warranty.ID
	Record *Record
}

// Made is a new segment, or a new version of one.
type Made struct {
	First warranty.ID // below it are only records of earlier segments
	Size  int
	Parts Parts
}

// Diff returns the parts of updated that differ from old, and the keys that only old has.
func Diff(old, updated Parts) (changed Parts, gone []string) {
	changed = Parts{}
	for key, data := range updated {
		if before, ok := old[key]; !ok || !bytes.Equal(before, data) {
			changed[key] = data
		}
	}
	for key := range old {
		if _, ok := updated[key]; !ok {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	return changed, gone
}

// content is a segment that is being changed. Its words are still encoded.
type content struct {
	ids                                   []warranty.ID
	flags                                 []byte
	starts, ends, updated                 []int64
	names, categories, suppliers, sellers []string
	emails, codes                         []string
	words                                 Parts
}

// Apply returns the segments that replace one: usually one, more if it became too large, none if
// nothing is left. Of the records it knows only the changed ones; everything else is in the parts.
// changes are in the order of their ids, at most one for each. An empty segment has no parts.
func Apply(old Parts, changes []Change, maxSize int) ([]Made, error) {
	c, err := decodeContent(old)
	if err != nil {
		return nil, err
	}
	p := c.plan(changes, maxSize)
	made := make([]Made, 0, len(p.pieces))
	words, err := p.words(c.words, changes, len(c.ids))
	if err != nil {
		return nil, err
	}
	for i, piece := range p.pieces {
		next := c.pick(piece, changes)
		parts := next.encode()
		maps.Copy(parts, words[i])
		made = append(made, Made{First: next.ids[0], Size: len(piece), Parts: parts})
	}
	return made, nil
}

func decodeContent(parts Parts) (*content, error) {
	c := &content{words: Parts{}}
	if len(parts) == 0 {
		return c, nil
	}
	c.flags = slices.Clone(parts[flagsKey])
	for i := 0; ; i++ {
		ids, ok := parts[chunkKey(idsKey, i)]
		if !ok {
			break
		}
		c.ids = append(c.ids, decodeIDs(ids)...)
		codes, err := decodeCodes(parts[chunkKey(codesKey, i)])
		if err != nil {
			return nil, err
		}
		for j := range codes.ends {
			c.codes = append(c.codes, codes.at(j))
		}
	}
	for key, to := range map[string]*[]int64{startColumn: &c.starts, endColumn: &c.ends, updatedColumn: &c.updated} {
		column, err := decodeColumn(parts[key], takeNumbers)
		if err != nil {
			return nil, err
		}
		*to = column.expand()
	}
	for key, to := range map[string]*[]string{nameColumn: &c.names, categoryColumn: &c.categories,
		supplierColumn: &c.suppliers, sellerColumn: &c.sellers, emailColumn: &c.emails} {
		column, err := decodeColumn(parts[key], takeTexts)
		if err != nil {
			return nil, err
		}
		*to = column.expand()
	}
	for key, data := range parts {
		if strings.HasPrefix(key, wordsKey) {
			c.words[key] = data
		}
	}
	for _, size := range []int{len(c.flags), len(c.codes), len(c.starts), len(c.ends), len(c.updated), len(c.names),
		len(c.categories), len(c.suppliers), len(c.sellers), len(c.emails)} {
		if size != len(c.ids) {
			return nil, ErrCorrupt
		}
	}
	return c, nil
}

// slot is where a position of a new segment comes from: an old position, a change, or both. The
// other is -1.
type slot struct{ old, change int }

// plan is what becomes of the positions of a segment.
type plan struct {
	pieces [][]slot
	moved  bool // some positions are not where they were
}

// plan decides which positions the new segments have. Positions move only if they must: because a
// record arrives between others, because many are empty, or because the segment is full.
func (c *content) plan(changes []Change, maxSize int) plan {
	var slots []slot
	empty, moved := 0, false
	for i, j := 0, 0; i < len(c.ids) || j < len(changes); {
		order := -1
		if i == len(c.ids) {
			order = 1
		} else if j < len(changes) {
			order = slices.Compare(c.ids[i][:], changes[j].ID[:])
		}
		switch {
		case order < 0:
			if c.flags[i] == 0 {
				empty++
			}
			slots = append(slots, slot{i, -1})
			i++
		case order == 0:
			if changes[j].Record == nil {
				empty++
			}
			slots = append(slots, slot{i, j})
			i, j = i+1, j+1
		default:
			if changes[j].Record != nil {
				slots = append(slots, slot{-1, j})
				moved = moved || i < len(c.ids)
			}
			j++
		}
	}
	if moved || empty*4 > len(slots) || len(slots) > maxSize {
		live := slots[:0]
		for _, s := range slots {
			if c.live(s, changes) {
				live = append(live, s)
			}
		}
		slots, moved = live, moved || empty > 0
	}
	return plan{split(slots, maxSize, moved), moved}
}

func (c *content) live(s slot, changes []Change) bool {
	if s.change >= 0 {
		return changes[s.change].Record != nil
	}
	return c.flags[s.old] != 0
}

// split cuts slots into pieces. A segment that only grew at its end is full and stays as it is;
// otherwise each piece gets room to grow.
func split(slots []slot, maxSize int, moved bool) (pieces [][]slot) {
	size := maxSize
	if moved && len(slots) > maxSize {
		n := (len(slots)*4/3 + maxSize - 1) / maxSize
		size = (len(slots) + n - 1) / n
	}
	for piece := range slices.Chunk(slots, size) {
		pieces = append(pieces, piece)
	}
	return pieces
}

// pick returns the content of a piece, without its words.
func (c *content) pick(piece []slot, changes []Change) *content {
	next := &content{}
	for _, s := range piece {
		if s.change < 0 {
			next.add(c.ids[s.old], c.flags[s.old], c.starts[s.old], c.ends[s.old], c.updated[s.old], c.names[s.old],
				c.categories[s.old], c.suppliers[s.old], c.sellers[s.old], c.emails[s.old], c.codes[s.old])
			continue
		}
		change := changes[s.change]
		if r := change.Record; r != nil {
			next.add(change.ID, flagsOf(r), int64(r.Start), int64(r.End), r.Updated, Fold(r.Name),
				r.Category, r.Supplier, r.Seller, r.SellerEmail, r.Codes)
		} else {
			next.add(change.ID, 0, 0, 0, 0, "", "", "", "", "", "")
		}
	}
	return next
}

func (c *content) add(id warranty.ID, flags byte, start, end, updated int64,
	name, category, supplier, seller, email, codes string) {
	c.ids = append(c.ids, id)
	c.flags = append(c.flags, flags)
	c.starts, c.ends, c.updated = append(c.starts, start), append(c.ends, end), append(c.updated, updated)
	c.names, c.categories = append(c.names, name), append(c.categories, category)
	c.suppliers, c.sellers = append(c.suppliers, supplier), append(c.sellers, seller)
	c.emails, c.codes = append(c.emails, email), append(c.codes, codes)
}

// encode returns the parts without those of the words.
func (c *content) encode() Parts {
	parts := Parts{flagsKey: c.flags}
	var heads []byte
	number := 0
	for ids := range slices.Chunk(c.ids, chunk) {
		var b []byte
		for _, id := range ids {
			b = append(b, id[:]...)
		}
		heads = append(heads, ids[0][:]...)
		parts[chunkKey(idsKey, number)] = b
		parts[chunkKey(codesKey, number)] = encodeCodes(c.codes[number*chunk : number*chunk+len(ids)])
		number++
	}
	parts[headsKey] = heads
	for key, at := range map[string][]int64{startColumn: c.starts, endColumn: c.ends, updatedColumn: c.updated} {
		parts[key] = encodeColumn(newColumn(at), putNumbers)
	}
	for key, at := range map[string][]string{nameColumn: c.names, categoryColumn: c.categories,
		supplierColumn: c.suppliers, sellerColumn: c.sellers, emailColumn: c.emails} {
		parts[key] = encodeColumn(newColumn(at), putTexts)
	}
	return parts
}

func chunkKey(kind string, number int) string { return kind + string([]byte{byte(number)}) }

func decodeIDs(b []byte) []warranty.ID {
	ids := make([]warranty.ID, len(b)/len(warranty.ID{}))
	for i := range ids {
		copy(ids[i][:], b[i*len(ids[i]):])
	}
	return ids
}

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

// firstRunes returns the first n runes of a word, or all of it.
func firstRunes(word string, n int) string {
	for i := range word {
		if n == 0 {
			return word[:i]
		}
		n--
	}
	return word
}

// bucketRunes is the number of runes that the words of one part share.
const bucketRunes = 2

func bucketOf(word string) string { return wordsKey + firstRunes(word, bucketRunes) }

// indexedWords returns the words by which a record is found. Words of its codes are found there,
// except by their first runes.
func indexedWords(r *Record) []string {
	list := words(r.Text, true)
	for i, word := range list {
		if utf8.RuneCountInString(word) >= MinInside && strings.Contains(r.Codes, word) {
			list[i] = firstRunes(word, MinInside-1)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
