package flips

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A place is a part of a file.
type place struct {
	file, name string
	from, to   int64
}

// places returns the places in files, by name. "anywhere" are whole files.
func places(t *testing.T, files map[string][]byte) map[string][]place {
	t.Helper()
	all := map[string][]place{}
	add := func(file, name string, from, to int64) {
		if to > from {
			all[name] = append(all[name], place{file, name, from, to})
		}
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		size := int64(len(files[file]))
		add(file, "anywhere", 0, size)
		switch ext := filepath.Ext(file); {
		case ext == ".tar":
			tarPlaces(t, file, files[file], add)
		case ext == ".parity":
			head := min(size/2, 8192)
			add(file, "parity head", 0, head)
			add(file, "parity", head, size-head)
			add(file, "second parity head", size-head, size)
		case strings.Contains(filepath.ToSlash(file), "/blobs/"):
			add(file, "blob", 0, size)
		default:
			add(file, strings.Trim(ext, ".")+" file", 0, size)
		}
	}
	return all
}

// tarPlaces adds the places of a volume.
func tarPlaces(t *testing.T, file string, text []byte, add func(file, name string, from, to int64)) {
	t.Helper()
	r := bytes.NewReader(text)
	end := int64(0)
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		fail.On(t, err)
		at := r.Size() - int64(r.Len()) // the reader has no buffer
		what := "content"
		switch name := strings.ToLower(h.Name); {
		case end == 0:
			what = "label"
		case strings.HasPrefix(name, "deltas/"):
			what = "delta"
		case !strings.HasPrefix(name, "blobs/"):
			what = "plan or index"
		}
		add(file, "header", at-512, at)
		add(file, what, at, at+h.Size)
		end = at + (h.Size+511)/512*512
		add(file, "padding", at+h.Size, end)
	}
	add(file, "end of the volume", end, int64(len(text)))
}

// choose returns a random place and a bit in it. Each second is anywhere, if there is such a place, in a file weighed by its
// size.
func choose(all map[string][]place, r *rand.Rand) (p place, bit int64) {
	name := "anywhere"
	if r.IntN(2) > 0 || len(all[name]) == 0 {
		names := slices.Sorted(maps.Keys(all))
		name = names[r.IntN(len(names))]
	}
	total := int64(0)
	for _, p := range all[name] {
		total += p.to - p.from
	}
	at := r.Int64N(total)
	for _, p = range all[name] {
		if at < p.to-p.from {
			break
		}
		at -= p.to - p.from
	}
	return p, (p.from+at)*8 + r.Int64N(8)
}
