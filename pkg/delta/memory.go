package delta

import "github.com/klauspost/compress/zstd"

// Memory is what Encode allocates and the next call can use: up to 60 MB. It is empty at first. Two calls must not use it at the same time.
type Memory struct {
	solid     *solidWriter
	small     *zstd.Encoder
	slots     []uint64 // of anchors
	comparers []comparer
	results   []result // one more than comparers
	frame     frame
	of        made
}

// made tells what the encoders of a Memory were made for.
type made struct {
	version      int // of small
	small, solid zstd.EncoderLevel
}

// workers makes room for so many.
func (m *Memory) workers(n int) {
	if len(m.comparers) < n {
		m.comparers, m.results = make([]comparer, n), make([]result, n+1)
	}
}

// smallEncoder returns an encoder for EncodeAll.
func (m *Memory) smallEncoder(version int, e effort) (*zstd.Encoder, error) {
	window := 4 << 20
	if version == Solid {
		window = e.frame
	}
	if m.small != nil && m.of.small == e.level && m.of.version == version {
		return m.small, nil
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(e.level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
	m.small, m.of.small, m.of.version = z, e.level, version
	return z, err
}

// solidWriter returns a writer that begins a stream.
func (m *Memory) solidWriter(e effort) (_ *solidWriter, err error) {
	if m.solid == nil || m.of.solid != e.level {
		if m.solid, err = newSolidWriter(e); err != nil {
			return nil, err
		}
		m.of.solid = e.level
	}
	m.solid.begin()
	return m.solid, nil
}
