package delta

import "github.com/klauspost/compress/zstd"

// Memory is what Encode allocates and the next call can use: up to 60 MB of tables. It is empty at first. Two calls must not use it at the same time.
type Memory struct {
	solid *solidWriter
	small *zstd.Encoder
	slots []uint64 // of anchors
	of    made
}

// made tells what the encoders of a Memory were made for.
type made struct{ small, solid zstd.EncoderLevel }

// smallEncoder returns an encoder for EncodeAll.
func (m *Memory) smallEncoder(version int, e effort) (*zstd.Encoder, error) {
	level := e.level
	if version == Solid {
		level = e.small
	}
	if m.small != nil && m.of.small == level {
		return m.small, nil
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(4<<20), zstd.WithLowerEncoderMem(true))
	m.small, m.of.small = z, level
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
