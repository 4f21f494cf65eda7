package delta

const (
	pageSize  = 16 << 10
	pageCount = 256
)

// pages keeps what was read of the bases lately, because a delta of a program has many short copies next to each other.
type pages struct {
	from   *addresses
	memory []byte
	number [pageCount]int64 // of the page in memory, plus 1
}

func newPages(from *addresses) *pages {
	count := min(pageCount, from.end()/pageSize+1)
	return &pages{from: from, memory: make([]byte, pageSize*count)}
}

// read fills b from an address.
func (p *pages) read(b []byte, at int64) error {
	if len(b) >= pageSize || at < 0 || at > p.from.end()-int64(len(b)) {
		return p.from.read(b, at)
	}
	for len(b) > 0 {
		number := at / pageSize
		start := number * pageSize
		slot := number % pageCount
		page := p.memory[slot*pageSize : (slot+1)*pageSize]
		page = page[:min(pageSize, p.from.end()-start)]
		if p.number[slot] != number+1 {
			p.number[slot] = 0
			if err := p.from.read(page, start); err != nil {
				return err
			}
			p.number[slot] = number + 1
		}
		n := copy(b, page[at-start:])
		b, at = b[n:], at+int64(n)
	}
	return nil
}
