package packed

import (
	"bytes"
	"encoding/binary"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
)

const (
	elf64           = 2
	elfBig          = 2
	elfNoBits       = 8       // sh_type of a section without content
	elfCompressed   = 1 << 11 // SHF_COMPRESSED in sh_flags
	elfZlib         = 1       // ELFCOMPRESS_ZLIB in ch_type
	maxSections     = 1 << 12
	maxSectionNames = 1 << 20 // bytes
	zlibHeader      = 2
	zlibTrailer     = 4
)

// An elfSection is what is needed of a section header.
type elfSection struct {
	name            uint32
	kind            uint32
	flags, at, size uint64
}

// elf returns the compressed sections of a program or library: those with SHF_COMPRESSED, and .zdebug_* of older compilers.
func (s *source) elf() File {
	head := make([]byte, 64)
	s.read(head, 0)
	order, wide := binary.ByteOrder(binary.LittleEndian), head[4] == elf64
	if head[5] == elfBig {
		order = binary.BigEndian
	}
	table, entry, count, names := uint64(order.Uint32(head[32:])), order.Uint16(head[46:]), order.Uint16(head[48:]), order.Uint16(head[50:])
	if wide {
		table, entry, count, names = order.Uint64(head[40:]), order.Uint16(head[58:]), order.Uint16(head[60:]), order.Uint16(head[62:])
	}
	least := uint16(40)
	if wide {
		least = 64
	}
	if s.err != nil || entry < least || entry > 1024 || count > maxSections || names >= count || table > uint64(s.size) {
		return File{}
	}
	raw := make([]byte, int(entry)*int(count))
	s.read(raw, int64(table))
	if s.err != nil {
		return File{}
	}
	all := make([]elfSection, count)
	for i := range all {
		all[i] = parseSection(raw[i*int(entry):], order, wide)
	}
	text := s.sectionNames(all[names])
	var f File
	for _, c := range all {
		if c.kind == elfNoBits || c.at > uint64(s.size) || c.size > uint64(s.size)-c.at || uint64(c.name) > uint64(len(text)) {
			continue
		}
		name, _, _ := bytes.Cut(text[c.name:], []byte{0})
		s.section(&f, string(name), c, order, wide)
	}
	return f
}

func parseSection(b []byte, order binary.ByteOrder, wide bool) elfSection {
	c := elfSection{name: order.Uint32(b), kind: order.Uint32(b[4:])}
	if wide {
		c.flags, c.at, c.size = order.Uint64(b[8:]), order.Uint64(b[24:]), order.Uint64(b[32:])
	} else {
		c.flags, c.at, c.size = uint64(order.Uint32(b[8:])), uint64(order.Uint32(b[16:])), uint64(order.Uint32(b[20:]))
	}
	return c
}

func (s *source) sectionNames(c elfSection) []byte {
	if c.at > uint64(s.size) || c.size > min(uint64(s.size)-c.at, maxSectionNames) {
		return nil
	}
	b := make([]byte, c.size)
	s.read(b, int64(c.at))
	return b
}

// section adds the stream of a section, if it has one.
func (s *source) section(f *File, name string, c elfSection, order binary.ByteOrder, wide bool) {
	var unpacked uint64
	header := uint64(12)
	switch {
	case c.flags&elfCompressed != 0 && c.size > 24:
		b := make([]byte, 24) // Elf64_Chdr, or the 12 bytes of Elf32_Chdr
		s.read(b, int64(c.at))
		if order.Uint32(b) != elfZlib {
			return
		}
		unpacked = uint64(order.Uint32(b[4:]))
		if wide {
			unpacked, header = order.Uint64(b[8:]), 24
		}
	case bytes.HasPrefix([]byte(name), []byte(".zdebug_")) && c.size > 12:
		b := make([]byte, 12) // "ZLIB" and the length, big-endian
		s.read(b, int64(c.at))
		if string(b[:4]) != "ZLIB" {
			return
		}
		unpacked = binary.BigEndian.Uint64(b[4:])
	default:
		return
	}
	if c.size < header+zlibHeader+zlibTrailer+minPacked || unpacked > 1<<62 {
		return
	}
	s.likely(f, int64(c.at+header))
	f.Streams = s.add(f.Streams, name, int64(c.at+header)+zlibHeader, int64(c.size-header)-zlibHeader-zlibTrailer, int64(unpacked))
}

// likely reads what the header of a zlib stream tells about the level. The linker of Go uses 1.
func (s *source) likely(f *File, at int64) {
	if len(f.Streams) > 0 {
		return
	}
	b := make([]byte, zlibHeader)
	s.read(b, at)
	switch b[1] >> 6 {
	case 0:
		f.Likely = []recompress.DeflateKind{{Compressor: "go-gzip", Level: 1}, {Compressor: "zlib", Level: 1}}
	case 3:
		f.Likely = []recompress.DeflateKind{{Compressor: "zlib", Level: 9}}
	}
}
