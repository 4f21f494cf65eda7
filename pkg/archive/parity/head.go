package parity

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
)

// kind and version are in the first line of each head.
const (
	kind    = "GantryParity"
	version = 1
)

// A firstLine is the JSON at the beginning of a head.
type firstLine struct {
	Kind     string        `json:"kind"`
	Version  int           `json:"version"`
	Set      digest.Digest `json:"set"`
	Volumes  int           `json:"volumes"`
	Size     int64         `json:"size"`
	Block    int64         `json:"block"`
	Parity   int           `json:"parity"`
	Parities int           `json:"parities"`
}

func (l Layout) firstLine(number, parities int) firstLine {
	return firstLine{kind, version, l.Set, len(l.Sizes), l.Length(), l.block(), number, parities}
}

// A Head is what a parity file says about itself and the data shards.
type Head struct {
	// Number is the number of the file, from 1 on, and Parities is how many there are.
	Number, Parities int
	// sums has the checksum of each block: of the data shards, and of the file's own parity.
	sums []byte
}

// data returns the checksums of the data shards.
func (h *Head) data(l Layout) []byte { return h.sums[:len(l.Sizes)*l.blocks()*sumSize] }

// marshal returns the bytes of the head.
func (h *Head) marshal(l Layout) ([]byte, error) {
	line, err := json.Marshal(l.firstLine(h.Number, h.Parities))
	if err != nil {
		return nil, err
	}
	raw := make([]byte, l.headSize())
	copy(raw, append(line, '\n'))
	end := pageSize + copy(raw[pageSize:], h.sums)
	sum := sha256.Sum256(raw[:end])
	copy(raw[end:], sum[:])
	return raw, nil
}

// ReadHead reads the head of a parity file, or, if that is damaged, its copy at the end. It reads no more
// bytes than a head of the layout has.
func ReadHead(l Layout, file io.ReaderAt) (*Head, error) {
	if err := l.Check(1); err != nil {
		return nil, err
	}
	first, err := readHead(l, file, 0)
	if err == nil {
		return first, nil
	}
	if second, again := readHead(l, file, l.headSize()+l.Length()); again == nil {
		return second, nil
	}
	return nil, err
}

func readHead(l Layout, file io.ReaderAt, at int64) (*Head, error) {
	page := make([]byte, pageSize)
	if n, err := file.ReadAt(page, at); n < len(page) {
		return nil, fmt.Errorf("reading the head of a parity file: %w", err)
	}
	text, rest, found := bytes.Cut(page, []byte("\n"))
	if !found || len(bytes.Trim(rest, "\x00")) > 0 {
		return nil, errors.New("the head of the parity file is damaged")
	}
	var line firstLine
	if err := json.Unmarshal(text, &line); err != nil {
		return nil, fmt.Errorf("the head of the parity file is damaged: %w", err)
	}
	switch {
	case line.Kind != kind:
		return nil, errors.New("it is not a parity file")
	case line.Version != version:
		return nil, fmt.Errorf("the parity file has version %d, and this version of Gantry reads version %d", line.Version, version)
	case line != l.firstLine(line.Parity, line.Parities):
		return nil, errors.New("it is the parity of other volumes")
	case line.Parity < 1 || line.Parity > line.Parities || l.Check(line.Parities) != nil:
		return nil, fmt.Errorf("parity file %d of %d of %d volumes: the numbers contradict each other", line.Parity, line.Parities, line.Volumes)
	}
	raw := make([]byte, l.headSize())
	if n, err := file.ReadAt(raw, at); n < len(raw) {
		return nil, fmt.Errorf("reading the head of a parity file: %w", err)
	}
	end := pageSize + (len(l.Sizes)+1)*l.blocks()*sumSize
	h := &Head{Number: line.Parity, Parities: line.Parities, sums: bytes.Clone(raw[pageSize:end])}
	want, err := h.marshal(l)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(raw, want) {
		return nil, errors.New("the head of the parity file is damaged: its checksum differs")
	}
	return h, nil
}
