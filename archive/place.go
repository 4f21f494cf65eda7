package archive

import "fmt"

// labelSize is what a volume's label takes up: a header, and at most a block.
const labelSize = 2 * blockSize

// fits reports whether the file fits into a volume that has nothing else.
func (e *entry) fits(volumeSize int64, how *sealer) bool {
	return labelSize+how.prelude(e)+padded(how.sealed(e.Size))+trailerSize <= volumeSize
}

// A placer lays entries out in volumes.
type placer struct {
	set  *set
	how  *sealer
	ends []int64 // of what the volumes hold
	open int     // the volumes before have no room for anything
}

// place adds files and content to volumes.
func (p *packing) place(files, content []entry) error {
	l := &placer{set: p.set, how: p.sealer}
	if err := l.grow(); err != nil {
		return err
	}
	for _, e := range files { // they stand together
		if l.room(0, l.how.prelude(&e)) < l.how.stored(e.Size) {
			p.oversized = append(p.oversized, e)
		}
		l.put(0, e, l.how.stored(e.Size))
	}
	for _, e := range content {
		if err := l.add(e); err != nil {
			return err
		}
	}
	return nil
}

// grow begins a volume.
func (l *placer) grow() error {
	s := l.set
	n := len(s.Volumes)
	if n == maxVolumes {
		return fmt.Errorf("volumes of %d bytes make more than %d volumes: choose a larger size", s.VolumeSize, maxVolumes)
	}
	s.Volumes = append(s.Volumes, volume{
		Name: s.id().volume(n + 1), Size: labelSize + trailerSize,
		Entries: []entry{{Path: s.id().label(n + 1), Offset: blockSize}},
	})
	l.ends = append(l.ends, labelSize)
	return nil
}

// room is how many bytes of content a volume has room for behind a header of the
// given length; less than 0 where the header has none.
func (l *placer) room(at int, header int64) int64 {
	n := l.set.VolumeSize - trailerSize - l.ends[at] - header
	if n < 0 {
		return -1
	}
	return n / blockSize * blockSize
}

// put gives an entry, of which size bytes are stored, the next place in a volume.
func (l *placer) put(at int, e entry, size int64) {
	v := &l.set.Volumes[at]
	before := l.how.prelude(&e)
	e.Offset = l.ends[at] + before
	l.ends[at] += before + padded(size)
	if l.how != nil {
		e.Sealed = &entry{Offset: e.Offset, Size: size}
	}
	v.Entries = append(v.Entries, e)
	v.Size = l.ends[at] + trailerSize
	for l.open < len(l.ends) && l.ends[l.open]+blockSize+trailerSize > l.set.VolumeSize {
		l.open++
	}
}

// add places content: in the first volume that has room for it, or in parts.
func (l *placer) add(e entry) error {
	if !e.fits(l.set.VolumeSize, l.how) {
		return l.split(e)
	}
	header, size := l.how.prelude(&e), l.how.stored(e.Size)
	for at := l.open; at < len(l.ends); at++ {
		if l.room(at, header) >= size {
			l.put(at, e, size)
			return nil
		}
	}
	if err := l.grow(); err != nil {
		return err
	}
	l.put(len(l.ends)-1, e, size)
	return nil
}

// split places content in parts. Each takes all the room of its volume; the first
// lies in the last volume there is, where that has room for an eighth of one.
func (l *placer) split(e entry) error {
	var parts []*part
	for at := int64(0); at < e.Size; {
		piece := e
		piece.Part = &part{Number: len(parts) + 1, At: at, Size: e.Size}
		last, header := len(l.ends)-1, l.how.prelude(&piece)
		if len(parts) > 0 || l.room(last, header) < l.set.VolumeSize/8 {
			if err := l.grow(); err != nil {
				return err
			}
			last++
		}
		room := l.how.most(l.room(last, header))
		piece.Size = min(e.Size-at, room)
		size := l.how.sealed(piece.Size)
		if at+piece.Size == e.Size { // the others fill their volumes
			size = l.how.stored(piece.Size)
		}
		l.put(last, piece, size)
		parts = append(parts, piece.Part)
		at += piece.Size
	}
	for _, p := range parts {
		p.Parts = len(parts)
	}
	return nil
}
