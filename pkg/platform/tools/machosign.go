package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Programs for macOS on arm64 run only with a signature of their pages, so replacing a placeholder
// makes the signature wrong. It is ad-hoc: it has no key, only hashes, and the linker of Go writes it.
// The same signature is written again for the new bytes. The format is in
// https://opensource.apple.com/source/xnu/xnu-4903.270.47/osfmk/kern/cs_blobs.h and in
// https://go.dev/src/cmd/internal/codesign/codesign.go.
const (
	machMagic64    = 0xfeedfacf
	machExecutable = 2
	loadSegment64  = 0x19
	loadSignature  = 0x1d
	machHeaderSize = 32
	maxLoads       = 1 << 20 // bytes of load commands

	signatureMagic = 0xfade0cc0
	directoryMagic = 0xfade0c02
	superBlobSize  = 12 + 8 // with one entry
	directorySize  = 88
	signedPage     = 1 << 12
	signedBy       = "a.out" // the identifier in signatures of Go's linker
)

// errUnsigned means that a program is not one that Go's linker signed.
var errUnsigned = errors.New("it has no signature of Go's linker")

// A machFile is what a Mach-O file says of its signature and its code.
type machFile struct {
	executable                     bool
	textOffset, textSize           uint64
	signatureOffset, signatureSize uint32
	loadsEnd                       uint32 // of the header and the load commands
}

// readMach reads the header of a 64-bit Mach-O file.
func readMach(r io.ReaderAt) (*machFile, error) {
	header := make([]byte, machHeaderSize)
	if _, err := r.ReadAt(header, 0); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnsigned, err)
	}
	order := binary.LittleEndian
	if order.Uint32(header) != machMagic64 {
		return nil, errUnsigned
	}
	size := order.Uint32(header[20:])
	if size > maxLoads {
		return nil, errUnsigned
	}
	loads := make([]byte, size)
	if _, err := r.ReadAt(loads, machHeaderSize); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnsigned, err)
	}
	f := &machFile{executable: order.Uint32(header[12:]) == machExecutable, loadsEnd: machHeaderSize + size}
	for len(loads) >= 8 {
		kind, length := order.Uint32(loads), order.Uint32(loads[4:])
		if length < 8 || int64(length) > int64(len(loads)) {
			return nil, errUnsigned
		}
		one := loads[:length]
		loads = loads[length:]
		switch {
		case kind == loadSegment64 && length >= 72 && string(bytes.TrimRight(one[8:24], "\x00")) == "__TEXT":
			f.textOffset, f.textSize = order.Uint64(one[40:]), order.Uint64(one[48:])
		case kind == loadSignature && length >= 16:
			f.signatureOffset, f.signatureSize = order.Uint32(one[8:]), order.Uint32(one[12:])
		}
	}
	return f, nil
}

// resign writes the signature of a program for macOS again. The error is errUnsigned if the program
// has no signature that can be written again.
func resign(f interface {
	io.ReaderAt
	io.WriterAt
}) error {
	m, err := readMach(f)
	if err != nil {
		return err
	}
	pages := (int64(m.signatureOffset) + signedPage - 1) / signedPage
	length := superBlobSize + directorySize + int64(len(signedBy)) + 1 + pages*sha256.Size
	if m.signatureOffset < m.loadsEnd || length != int64(m.signatureSize) {
		return errUnsigned
	}
	code := io.NewSectionReader(f, 0, int64(m.signatureOffset))
	out, err := m.signature(code, length)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(out, int64(m.signatureOffset))
	return err
}

// signature returns the signature of code.
func (m *machFile) signature(code io.Reader, length int64) ([]byte, error) {
	size := uint32(length) //nolint:gosec // it is equal to a 32-bit number
	out := make([]byte, 0, length)
	order := binary.BigEndian
	put := func(values ...uint32) {
		for _, v := range values {
			out = order.AppendUint32(out, v)
		}
	}
	put(signatureMagic, size, 1)
	put(0, superBlobSize) // the directory is in slot 0
	hashes := directorySize + uint32(len(signedBy)) + 1
	pages := (m.signatureOffset + signedPage - 1) / signedPage
	put(directoryMagic, size-superBlobSize, 0x20400, 0x20002) // version; ad-hoc, by a linker
	put(hashes, directorySize, 0, pages, m.signatureOffset)
	out = append(out, sha256.Size, 2, 0, 12) // of SHA-256, with pages of 1 << 12 bytes
	put(0, 0, 0, 0)
	out = order.AppendUint64(out, 0)
	out = order.AppendUint64(out, m.textOffset)
	out = order.AppendUint64(out, m.textSize)
	flags := uint64(0)
	if m.executable {
		flags = 1
	}
	out = order.AppendUint64(out, flags)
	out = append(out, signedBy+"\x00"...)
	page := make([]byte, signedPage)
	for rest := m.signatureOffset; rest > 0; {
		page = page[:min(rest, signedPage)]
		if _, err := io.ReadFull(code, page); err != nil {
			return nil, fmt.Errorf("the program ends before its signature: %w", err)
		}
		sum := sha256.Sum256(page)
		out = append(out, sum[:]...)
		rest -= uint32(len(page)) //nolint:gosec // at most signedPage
	}
	return out, nil
}
