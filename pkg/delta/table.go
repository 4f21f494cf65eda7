package delta

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/gantry-mirror/gantry/pkg/delta/packed"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// encodeTable returns what is between the header and the frames: the table of compressed parts, or a zero if there are none.
func encodeTable(t *packed.Table, z *zstd.Encoder) ([]byte, error) {
	if t.Empty() {
		return []byte{0}, nil
	}
	raw, err := t.MarshalBinary()
	if err != nil {
		return nil, err
	}
	stored := z.EncodeAll(raw, nil)
	if len(stored) >= len(raw) {
		stored = raw
	}
	out := binary.AppendUvarint(nil, uint64(len(raw)))
	out = binary.AppendUvarint(out, uint64(len(stored)))
	return append(out, stored...), nil
}

// readUnpacked reads the table, and unpacks the parts of the bases that it lists.
func (h *Header) readUnpacked(ctx context.Context, r *bufio.Reader, z *zstd.Decoder, bases []Base, o DecodeOptions) (_ *unpacked, err error) {
	u := &unpacked{table: packed.Table{Bases: make([][]packed.Stream, len(bases))}}
	raw, err := readTable(r, z)
	if err != nil {
		return nil, fmt.Errorf("reading the delta after its header: %w", err)
	}
	if len(raw) > 0 {
		sizes := elements.Map(bases, func(b Base) int64 { return b.Size })
		t, err := packed.ParseTable(raw, h.ContentSize, sizes)
		if errors.Is(err, packed.ErrTable) && !errors.Is(err, recompress.ErrUnsupported) {
			err = invalid("%v", err)
		}
		if err != nil {
			return nil, err
		}
		u.table = *t
	}
	defer func() {
		if err != nil {
			u.close()
		}
	}()
	for i, streams := range u.table.Bases {
		for k := range streams {
			if u.store == nil {
				if u.store, err = packed.NewStore(o.Temp); err != nil {
					return nil, err
				}
			}
			if err := u.store.Unpack(ctx, bases[i].Content, &streams[k]); err != nil {
				return nil, fmt.Errorf("base %s: %w", bases[i].Digest, mismatch(err))
			}
		}
	}
	return u, u.view(Target{ContentSize: h.ContentSize}, bases)
}

// readTable reads the bytes of the table.
func readTable(r *bufio.Reader, z *zstd.Decoder) ([]byte, error) {
	size, err := readLength(r, packed.MaxTable)
	if err != nil || size == 0 {
		return nil, err
	}
	stored, err := readLength(r, size)
	if err != nil {
		return nil, err
	}
	return readStored(r, z, stored, size, nil)
}

// mismatch returns the error for streams that are not what the writer of the delta had.
func mismatch(err error) error {
	if errors.Is(err, packed.ErrStream) {
		return fmt.Errorf("%w: %w", ErrMismatch, err)
	}
	return err
}
