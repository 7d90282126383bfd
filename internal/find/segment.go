package find

import (
	"bytes"
	"cmp"
	"errors"
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

// The keys of the parts.
//
// A segment without its flags is read as corrupt and made again. Change the key of the flags whenever the words of a
// record or the columns change, so that each of two releases replaces the segments of the other.
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
	brandColumn    = columnKey + "b"
	issuerColumn   = columnKey + "i"
	standsColumn   = columnKey + "d"
	confirmsColumn = columnKey + "y"
	customerColumn = columnKey + "k"
	boughtColumn   = columnKey + "p"
	workColumn     = columnKey + "q"
	waitsColumn    = columnKey + "w"
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
	ids     []warranty.ID
	flags   []byte
	codes   []string
	numbers map[string]*column[int64]
	texts   map[string]*column[string]
	words   Parts
}

// numberColumns and textColumns are the columns, and what a record has in them.
var (
	numberColumns = map[string]func(*Record) int64{
		startColumn:   func(r *Record) int64 { return int64(r.Start) },
		endColumn:     func(r *Record) int64 { return int64(r.End) },
		updatedColumn: func(r *Record) int64 { return r.Updated },
		standsColumn:  func(r *Record) int64 { return r.StandsUntil },
		boughtColumn:  func(r *Record) int64 { return boughtDay(r.Purchased) },
		waitsColumn:   func(r *Record) int64 { return r.Waits },
	}
	textColumns = map[string]func(*Record) string{
		nameColumn:     func(r *Record) string { return Fold(r.Name) },
		categoryColumn: func(r *Record) string { return r.Category },
		supplierColumn: func(r *Record) string { return r.Supplier },
		sellerColumn:   func(r *Record) string { return r.Seller },
		emailColumn:    func(r *Record) string { return r.SellerEmail },
		brandColumn:    func(r *Record) string { return r.Brand },
		issuerColumn:   func(r *Record) string { return textOf(r.Issuer) },
		confirmsColumn: func(r *Record) string { return textOf(r.ConfirmedBy) },
		customerColumn: func(r *Record) string { return r.Customer },
		workColumn:     func(r *Record) string { return r.Work.text() },
	}
)

// boughtDay returns the day of a purchase as a value of a column. Records without one are before all days.
func boughtDay(day warranty.Date) int64 {
	if day.IsZero() {
		return firstDay - 1
	}
	return int64(day)
}

// textOf returns an id as a value of a column.
func textOf(id warranty.ID) string {
	if id.IsZero() {
		return ""
	}
	return string(id[:])
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
		first, parts := c.pick(piece, changes)
		maps.Copy(parts, words[i])
		made = append(made, Made{First: first, Size: len(piece), Parts: parts})
	}
	return made, nil
}

func decodeContent(parts Parts) (*content, error) {
	c := &content{words: Parts{}}
	if len(parts) > 0 {
		c.flags = parts[flagsKey]
	}
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
	for key, data := range parts {
		if strings.HasPrefix(key, wordsKey) {
			c.words[key] = data
		}
	}
	if len(c.flags) != len(c.ids) || len(c.codes) != len(c.ids) {
		return nil, ErrCorrupt
	}
	var err, failed error
	if c.numbers, err = decodeColumns(parts, numberColumns, takeNumbers, len(c.ids)); err == nil {
		c.texts, failed = decodeColumns(parts, textColumns, takeTexts, len(c.ids))
	}
	return c, errors.Join(err, failed)
}

// decodeColumns decodes some columns of a segment with a number of positions.
func decodeColumns[K cmp.Ordered](
	parts Parts, columns map[string]func(*Record) K, take func([]byte, []K) ([]byte, error), size int,
) (map[string]*column[K], error) {
	decoded := map[string]*column[K]{}
	for key := range columns {
		if len(parts) == 0 {
			decoded[key] = &column[K]{}
			continue
		}
		column, err := decodeColumn(parts[key], take)
		if err == nil && len(column.codes) != size {
			err = ErrCorrupt
		}
		if err != nil {
			return nil, err
		}
		decoded[key] = column
	}
	return decoded, nil
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

// pick returns the parts of a piece, without those of the words.
func (c *content) pick(piece []slot, changes []Change) (first warranty.ID, parts Parts) {
	ids, flags, codes := make([]warranty.ID, len(piece)), make([]byte, len(piece)), make([]string, len(piece))
	for i, s := range piece {
		if s.change < 0 {
			ids[i], flags[i], codes[i] = c.ids[s.old], c.flags[s.old], c.codes[s.old]
			continue
		}
		ids[i] = changes[s.change].ID
		if r := changes[s.change].Record; r != nil {
			flags[i], codes[i] = flagsOf(r), r.Codes
		}
	}
	parts = Parts{flagsKey: flags}
	var heads []byte
	number := 0
	for chunkIDs := range slices.Chunk(ids, chunk) {
		var b []byte
		for _, id := range chunkIDs {
			b = append(b, id[:]...)
		}
		heads = append(heads, chunkIDs[0][:]...)
		parts[chunkKey(idsKey, number)] = b
		parts[chunkKey(codesKey, number)] = encodeCodes(codes[number*chunk : number*chunk+len(chunkIDs)])
		number++
	}
	parts[headsKey] = heads
	for key, of := range numberColumns {
		parts[key] = encodeColumn(pickColumn(c.numbers[key], piece, changes, of), putNumbers)
	}
	for key, of := range textColumns {
		parts[key] = encodeColumn(pickColumn(c.texts[key], piece, changes, of), putTexts)
	}
	return ids[0], parts
}

// pickColumn returns the column of a piece. The old values are in order already.
func pickColumn[K cmp.Ordered](old *column[K], piece []slot, changes []Change, of func(*Record) K) *column[K] {
	used, added := make([]bool, len(old.values)), map[int]K{}
	for i, s := range piece {
		if s.change < 0 {
			used[old.codes[s.old]] = true
			continue
		}
		var value K
		if r := changes[s.change].Record; r != nil {
			value = of(r)
		}
		added[i] = value
	}
	more := slices.Compact(slices.Sorted(maps.Values(added)))
	c := &column[K]{values: make([]K, 0, len(old.values)+len(more)), codes: make([]uint16, len(piece))}
	moved := make([]uint16, len(old.values))
	for code, v := range old.values {
		if !used[code] {
			continue
		}
		for len(more) > 0 && more[0] <= v {
			if more[0] < v {
				c.values = append(c.values, more[0])
			}
			more = more[1:]
		}
		moved[code] = uint16(len(c.values))
		c.values = append(c.values, v)
	}
	c.values = append(c.values, more...)
	for i, s := range piece {
		if s.change < 0 {
			c.codes[i] = moved[old.codes[s.old]]
		}
	}
	for i, v := range added {
		code, _ := slices.BinarySearch(c.values, v)
		c.codes[i] = uint16(code)
	}
	return c
}

func chunkKey(kind string, number int) string { return kind + string([]byte{byte(number)}) }

func decodeIDs(b []byte) []warranty.ID {
	ids := make([]warranty.ID, len(b)/len(warranty.ID{}))
	for i := range ids {
		copy(ids[i][:], b[i*len(ids[i]):])
	}
	return ids
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
