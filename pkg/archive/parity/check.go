package parity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Check reads a parity file of size bytes to the end, and returns an error if any of its bytes differs from what was written, as
// far as the file itself shows: both heads, and the parity between them. progress, if not nil, is called with the number of bytes
// read since the last call.
func Check(ctx context.Context, l Layout, file io.ReaderAt, size int64, progress func(n int64)) error {
	head, err := ReadHead(l, file)
	if err != nil {
		return err
	}
	if size != l.FileSize() {
		return fmt.Errorf("it has %d bytes instead of %d", size, l.FileSize())
	}
	want, err := head.marshal(l)
	if err != nil {
		return err
	}
	if progress == nil {
		progress = func(int64) {}
	}
	for _, at := range []int64{0, size - l.headSize()} {
		got := make([]byte, len(want))
		if err := readShard(file, size, got, at); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return errors.New("one of its two heads is damaged")
		}
		progress(l.headSize())
	}
	own := head.sums[len(head.data(l)):]
	r := Recovery{l: l, shards: []shard{{copies: []shardCopy{{file: file, sums: own}}, at: l.headSize(), size: l.Length()}}}
	damaged, buf := 0, make([]byte, minBlock)
	for b := range l.blocks() {
		if !r.isIntact(ctx, &r.shards[0], &r.shards[0].copies[0], b, buf) {
			damaged++
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		progress(r.present(b))
	}
	if damaged > 0 {
		return fmt.Errorf("%d of its %d blocks are damaged", damaged, l.blocks())
	}
	return nil
}
