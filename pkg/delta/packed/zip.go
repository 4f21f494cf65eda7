package packed

import (
	"bytes"
	"encoding/binary"
)

const (
	zipEnd         = "PK\x05\x06" // of the central directory
	zipEndSize     = 22
	zipEntry       = "PK\x01\x02" // in the central directory
	zipEntrySize   = 46
	zipLocal       = "PK\x03\x04" // before the data of an entry
	zipLocalSize   = 30
	zipStored      = 0
	zipDeflate     = 8
	zipEncrypted   = 1
	maxZipComment  = 1<<16 - 1
	maxDirectory   = 16 << 20 // bytes of the central directories of a file and the zip files in it
	maxZipName     = 512      // bytes; entries with longer names are left out
	maxZipNesting  = 2        // zip files in zip files
	zip64Size      = 1<<32 - 1
	zip64Count     = 1<<16 - 1
	nestedZipNames = ".jar.war.ear.zip.whl"
)

// zip returns the entries of a zip file that are compressed with deflate, and those of zip files that are stored in it without compression. Entries in the
// format zip64 are left out.
func (s *source) zip() File {
	var f File
	left := int64(maxDirectory)
	s.entries(&f, "", 1, &left)
	return f
}

// entries adds the streams of the zip file that s is, with a prefix to their names. left is how long central directories may still be.
func (s *source) entries(f *File, prefix string, depth int, left *int64) {
	directory, shift, count := s.directory(*left)
	*left -= int64(len(directory))
	for range count {
		if s.err != nil || len(directory) < zipEntrySize || string(directory[:4]) != zipEntry || len(f.Streams) == maxFileStreams {
			return
		}
		flags, method := binary.LittleEndian.Uint16(directory[8:]), binary.LittleEndian.Uint16(directory[10:])
		packed, unpacked := int64(binary.LittleEndian.Uint32(directory[20:])), int64(binary.LittleEndian.Uint32(directory[24:]))
		nameSize := int(binary.LittleEndian.Uint16(directory[28:]))
		next := zipEntrySize + nameSize + int(binary.LittleEndian.Uint16(directory[30:])) + int(binary.LittleEndian.Uint16(directory[32:]))
		local := int64(binary.LittleEndian.Uint32(directory[42:]))
		if next > len(directory) {
			return
		}
		raw := directory[zipEntrySize : zipEntrySize+nameSize]
		directory = directory[next:]
		if len(prefix)+len(raw) > maxZipName {
			continue
		}
		name := prefix + string(raw)
		if flags&zipEncrypted != 0 || packed == zip64Size || unpacked == zip64Size || local == zip64Size {
			continue
		}
		nested := method == zipStored && packed == unpacked && isNestedZip(name) && depth < maxZipNesting
		if method != zipDeflate && !nested || packed < minPacked {
			continue
		}
		b := make([]byte, zipLocalSize)
		if local += shift; local < 0 || local > s.size-zipLocalSize {
			continue
		}
		s.read(b, local)
		if string(b[:4]) != zipLocal {
			continue
		}
		at := local + zipLocalSize + int64(binary.LittleEndian.Uint16(b[26:])) + int64(binary.LittleEndian.Uint16(b[28:]))
		if !nested {
			f.Streams = s.add(f.Streams, name, at, packed, unpacked)
		} else if at <= s.size-packed {
			inner := &source{content: s.content, start: s.start + at, size: packed}
			inner.entries(f, name+"!", depth+1, left)
		}
	}
}

func isNestedZip(name string) bool {
	i := len(name) - 4
	return i > 0 && bytes.Contains([]byte(nestedZipNames), []byte(name[i:])) && name[i] == '.'
}

// directory reads the central directory, if it is not longer than limit. shift is how far the positions in it are from those in the file, which may begin with something else.
func (s *source) directory(limit int64) (b []byte, shift int64, count int) {
	tail := make([]byte, min(s.size, zipEndSize+maxZipComment))
	s.read(tail, s.size-int64(len(tail)))
	for i := len(tail) - zipEndSize; i >= 0 && s.err == nil; i-- {
		end := tail[i:]
		if string(end[:4]) != zipEnd || int(binary.LittleEndian.Uint16(end[20:])) != len(end)-zipEndSize {
			continue
		}
		count = int(binary.LittleEndian.Uint16(end[10:]))
		size, at := int64(binary.LittleEndian.Uint32(end[12:])), int64(binary.LittleEndian.Uint32(end[16:]))
		start := s.size - int64(len(end)) - size
		if count == zip64Count || size > limit || at > start || start < 0 {
			return nil, 0, 0
		}
		b = make([]byte, size)
		s.read(b, start)
		return b, start - at, count
	}
	return nil, 0, 0
}
