package archive

import "fmt"

// labelSize is the size of a volume's label: a header, and at most a block.
const labelSize = 2 * blockSize

// fits reports whether the file fits into a volume that has nothing else.
func (e *entry) fits(volumeSize int64, enc *encrypter) bool {
	return labelSize+enc.headerSize(e)+padded(enc.encryptedSize(e.Size))+trailerSize <= volumeSize
}

// A packer assigns entries to volumes.
type packer struct {
	set       *set
	encrypter *encrypter
	ends      []int64 // the end of what is in each volume
	open      int     // the volumes before have no room for anything
}

// addVolume begins a volume.
func (l *packer) addVolume() error {
	s := l.set
	n := len(s.Volumes)
	if s.FirstVolume > 0 && s.FirstVolume+n > maxVolumeFile {
		return fmt.Errorf("a volume after %s: that is the highest number, so use an empty folder", s.volumeName(n))
	}
	if n == maxVolumes {
		return fmt.Errorf("volumes of %d bytes make more than %d volumes: choose a larger size", s.VolumeSize, maxVolumes)
	}
	s.Volumes = append(s.Volumes, volume{
		Name: s.volumeName(n + 1), Size: labelSize + trailerSize,
		Entries: []entry{{Path: s.id().label(n + 1), Offset: blockSize}},
	})
	l.ends = append(l.ends, labelSize)
	return nil
}

// freeSpace returns how many bytes of content fit into a volume after a header of the given length.
// It is negative if the header does not fit.
func (l *packer) freeSpace(at int, header int64) int64 {
	n := l.set.VolumeSize - trailerSize - l.ends[at] - header
	if n < 0 {
		return -1
	}
	return n / blockSize * blockSize
}

// appendEntry appends an entry with size stored bytes to a volume.
func (l *packer) appendEntry(at int, e entry, size int64) {
	v := &l.set.Volumes[at]
	before := l.encrypter.headerSize(&e)
	e.Offset = l.ends[at] + before
	l.ends[at] += before + padded(size)
	if l.encrypter != nil {
		e.Encrypted = &entry{Offset: e.Offset, Size: size}
	}
	v.Entries = append(v.Entries, e)
	v.Size = l.ends[at] + trailerSize
	for l.open < len(l.ends) && l.ends[l.open]+blockSize+trailerSize > l.set.VolumeSize {
		l.open++
	}
}

// add adds content: to the first volume with enough space, or in parts.
func (l *packer) add(e entry) error {
	if !e.fits(l.set.VolumeSize, l.encrypter) {
		return l.split(e)
	}
	header, size := l.encrypter.headerSize(&e), l.encrypter.paddedSize(e.Size)
	for at := l.open; at < len(l.ends); at++ {
		if l.freeSpace(at, header) >= size {
			l.appendEntry(at, e, size)
			return nil
		}
	}
	if err := l.addVolume(); err != nil {
		return err
	}
	l.appendEntry(len(l.ends)-1, e, size)
	return nil
}

// split adds content in parts. Each part fills its volume. The first part goes into the last volume
// if that has at least an eighth of the volume size left.
func (l *packer) split(e entry) error {
	var parts []*part
	for at := int64(0); at < e.Size; {
		piece := e
		piece.Part = &part{Number: len(parts) + 1, At: at, Size: e.Size}
		last, header := len(l.ends)-1, l.encrypter.headerSize(&piece)
		if len(parts) > 0 || l.freeSpace(last, header) < l.set.VolumeSize/8 {
			if err := l.addVolume(); err != nil {
				return err
			}
			last++
		}
		room := l.encrypter.maxContent(l.freeSpace(last, header))
		piece.Size = min(e.Size-at, room)
		size := l.encrypter.encryptedSize(piece.Size)
		if at+piece.Size == e.Size { // the others fill their volumes
			size = l.encrypter.paddedSize(piece.Size)
		}
		l.appendEntry(last, piece, size)
		parts = append(parts, piece.Part)
		at += piece.Size
	}
	for _, p := range parts {
		p.Parts = len(parts)
	}
	return nil
}
