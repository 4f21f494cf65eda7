package tools

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A memory is a file in memory.
type memory struct{ data []byte }

func (m *memory) Write(p []byte) (int, error) {
	m.data = append(m.data, p...)
	return len(p), nil
}

func (m *memory) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(m.data).ReadAt(p, at)
}

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	if n := copy(m.data[at:], p); n < len(p) {
		return n, io.ErrShortWrite
	}
	return len(p), nil
}

// machO returns a Mach-O file of code with room for its signature. It has only what readMach reads.
func machO(code []byte) []byte {
	order := binary.LittleEndian
	segment := make([]byte, 72)
	order.PutUint32(segment, loadSegment64)
	order.PutUint32(segment[4:], 72)
	copy(segment[8:], "__TEXT")
	signature := make([]byte, 16)
	order.PutUint32(signature, loadSignature)
	order.PutUint32(signature[4:], 16)
	header := make([]byte, machHeaderSize)
	order.PutUint32(header, machMagic64)
	order.PutUint32(header[12:], machExecutable)
	order.PutUint32(header[16:], 2)
	order.PutUint32(header[20:], 72+16)
	end := uint32(machHeaderSize + 72 + 16 + len(code))
	size := 20 + 88 + 6 + (end+4095)/4096*32
	order.PutUint64(segment[48:], uint64(end))
	order.PutUint32(signature[8:], end)
	order.PutUint32(signature[12:], size)
	return bytes.Join([][]byte{header, segment, signature, code, make([]byte, size)}, nil)
}

// TestSignatureOfTheLinker compares signatures with those that Go's linker writes.
func TestSignatureOfTheLinker(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program for macOS")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	fail.On(t, os.WriteFile(source, []byte("package main\n\nfunc main() { println(\"a program\") }\n"), 0o600))
	file := filepath.Join(dir, "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", file, source)
	build.Env = append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want, err := os.ReadFile(file)
	fail.On(t, err)
	got := bytes.Clone(want)
	m, err := readMach(bytes.NewReader(got))
	fail.On(t, err)
	clear(got[m.signatureOffset:])
	if bytes.Equal(got, want) {
		t.Fatal("the program is not signed")
	}
	fail.On(t, resign(&memory{got}))
	if !bytes.Equal(got, want) {
		t.Error("the signature differs from what the linker writes")
	}
}

func TestResignRefuses(t *testing.T) {
	signed := machO(make([]byte, 10_000))
	fail.On(t, resign(&memory{bytes.Clone(signed)}))
	other := bytes.Clone(signed)
	binary.LittleEndian.PutUint32(other[machHeaderSize+72+12:], 5) // a signature of another size
	unsigned := bytes.Clone(signed)
	binary.LittleEndian.PutUint32(unsigned[machHeaderSize+72:], 0x99)
	loads := bytes.Clone(signed)
	binary.LittleEndian.PutUint32(loads[20:], 1<<30)
	load := bytes.Clone(signed)
	binary.LittleEndian.PutUint32(load[machHeaderSize+4:], 0)
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte("#!/bin/sh\n"), "another signature": other, "no signature": unsigned,
		"too many commands": loads, "a command of length 0": load, "cut off": signed[:60],
	} {
		if err := resign(&memory{bytes.Clone(data)}); !errors.Is(err, errUnsigned) {
			t.Errorf("%s: %v", name, err)
		}
	}
	short := signed[:machHeaderSize+72+16+5000]
	if err := resign(&memory{bytes.Clone(short)}); err == nil {
		t.Error("code that ends early was signed")
	}
}

func FuzzResign(f *testing.F) {
	f.Add(machO([]byte("code")))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &memory{bytes.Clone(data)}
		if err := resign(m); err != nil {
			return
		}
		again := &memory{bytes.Clone(m.data)}
		if err := resign(again); err != nil || !bytes.Equal(again.data, m.data) {
			t.Errorf("signing again changes the signature: %v", err)
		}
	})
}
