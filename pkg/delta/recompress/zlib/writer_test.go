package zlib_test

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress/zlib"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	for what, o := range map[string]zlib.Options{
		`unknown program "lzma"`:                       {Program: "lzma"},
		"level 10 is not between 0 and 9":              {Level: 10},
		"level -1 is not between 0 and 9":              {Level: -1},
		"level 0 is not between 1 and 9":               {Program: zlib.Pigz},
		"gzip has no memory level, write size":         {Program: zlib.Gzip, Level: 6, WriteSize: 10},
		"memory level 7 is not 8 or 9":                 {Level: 6, MemoryLevel: 7},
		"only pigz has blocks":                         {Level: 6, BlockSize: 1 << 20},
		"block size 32767 is not between 32 KiB":       {Program: zlib.Pigz, Level: 6, BlockSize: 32767},
		"a write size is negative":                     {Level: 6, WriteSize: -1},
		"an output size at level 0 needs a write size": {OutputSize: 100},
		"level 0 with calls of more than 262144 bytes": {WriteSize: 262145},
	} {
		_, err := zlib.NewWriter(io.Discard, o)
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: error %v instead of %q", o, err, what)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("no space")
	for _, level := range []int{0, 6} {
		data := content("random", 1_000_000, 1)
		w, err := zlib.NewWriter(refusing{broken}, zlib.Options{Level: level})
		fail.On(t, err)
		for ; len(data) > 0; data = data[10_000:] {
			if _, err = w.Write(data[:10_000]); err != nil {
				break
			}
		}
		if !errors.Is(err, broken) {
			t.Errorf("level %d: Write returned %v", level, err)
		}
		if err := w.Close(); !errors.Is(err, broken) {
			t.Errorf("level %d: Close returned %v", level, err)
		}
		if _, err := w.Write([]byte{1}); err == nil {
			t.Errorf("level %d: Write after Close succeeded", level)
		}
		if err := w.Flush(); err == nil {
			t.Errorf("level %d: Flush after Close succeeded", level)
		}
	}
}

func TestOnlyZlibFlushes(t *testing.T) {
	t.Parallel()
	for _, o := range []zlib.Options{{Program: zlib.Gzip, Level: 6}, {Program: zlib.Pigz, Level: 6}, {}} {
		w, err := zlib.NewWriter(io.Discard, o)
		fail.On(t, err)
		if err := w.Flush(); err == nil {
			t.Errorf("%+v: Flush succeeded", o)
		}
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	for _, o := range []zlib.Options{{Level: 6}, {WriteSize: 1000}, {Program: zlib.Gzip, Level: 9}, {Program: zlib.Pigz, Level: 1}} {
		w, err := zlib.NewWriter(refusing{errors.New("no space")}, o)
		fail.On(t, err)
		_, _ = w.Write(content("mixed", 321_987, 1))
		_ = w.Close()
		step := 1
		if testing.Short() {
			step = 3
		}
		for n := 0; n < 50; n += step {
			// The end of shorter content is in the window before what followed it in longer content.
			data := content("text", 300+(50-n)*(50-n)*7, 1)
			var got bytes.Buffer
			w.Reset(&got)
			_, err := w.Write(data)
			fail.On(t, err)
			if n%7 == 0 {
				continue // not closed
			}
			fail.On(t, w.Close())
			compare(t, fmt.Sprintf("%+v, input %d", o, n), got.Bytes(), compress(t, o, data))
		}
	}
}

// TestMemory is not parallel, so that only its own memory is counted.
func TestMemory(t *testing.T) {
	data := content("text", 300_000, 1)
	for _, o := range []zlib.Options{{WriteSize: 256 << 10}, {Level: 9, MemoryLevel: 9}, {Program: zlib.Gzip, Level: 9}, {Program: zlib.Pigz, Level: 9}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w, err := zlib.NewWriter(io.Discard, o)
		fail.On(t, err)
		_, err = w.Write(data)
		fail.On(t, err)
		fail.On(t, w.Close())
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1_000_000 {
			t.Errorf("%+v: %d bytes for a writer", o, used)
		} else {
			t.Logf("%+v: %d bytes", o, used)
		}
	}
}

// A refusing writer has no space.
type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

// FuzzWriter checks that what was compressed is decompressed by another implementation, however
// the input is divided.
//
// Slow: it compresses.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("abcabcabcabcabcabc"), byte(6), uint16(5))
	f.Fuzz(func(t *testing.T, data []byte, choice byte, division uint16) {
		isDecompressed(t, data[:min(len(data), 4<<10)], choice, division)
	})
}

// TestWriterOfLongContent is the same for content that is longer than the window.
func TestWriterOfLongContent(t *testing.T) {
	t.Parallel()
	isDecompressed(t, content("distant", 70_000, 1), 21, 40_000)
	isDecompressed(t, content("fibonacci", 60_000, 1), 33, 0)
}

func isDecompressed(t *testing.T, data []byte, choice byte, division uint16) {
	t.Helper()
	o := zlib.Options{Level: int(choice % 10)}
	switch choice / 10 % 4 {
	case 0:
		o.MemoryLevel, o.WriteSize = 9, int(division)
	case 1:
		o.Program, o.Level = zlib.Gzip, max(o.Level, 1)
	case 2:
		o.Program, o.Level, o.BlockSize = zlib.Pigz, max(o.Level, 1), windowSize+int(division)
		o.Independent, o.Sequential = choice&64 != 0, choice&128 != 0
	}
	var flush []int
	if o.Program == "" && (o.Level > 0 || o.WriteSize > 0) && int(division) <= len(data) {
		flush = append(flush, int(division))
	}
	got, err := io.ReadAll(flate.NewReader(bytes.NewReader(compress(t, o, data, flush...))))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%+v: %d bytes decompressed to %d, error %v", o, len(data), len(got), err)
	}
}

const windowSize = 32 << 10
