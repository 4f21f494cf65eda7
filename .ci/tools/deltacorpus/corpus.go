package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// A corpus is the content of index.json.
type corpus struct {
	Go     string  `json:"go"` // the version that built and compressed
	Layers []layer `json:"layers"`
}

// A layer is one version of a series. File names are relative to the corpus.
type layer struct {
	Series  string `json:"series"`
	Kind    string `json:"kind"`
	Version string `json:"version"`
	Base    string `json:"base,omitempty"` // the older version that this one is measured against
	Compact bool   `json:"compact,omitempty"`
	Tar     string `json:"tar"`
	Size    int64  `json:"size"`   // of the tar archive
	SHA256  string `json:"sha256"` // of the tar archive
	Blobs   []blob `json:"blobs"`
}

// compressed returns the blob of a layer that a compressor made.
func (l layer) compressed(compressor string) (blob, bool) {
	i := slices.IndexFunc(l.Blobs, func(b blob) bool { return b.Compressor == compressor })
	if i < 0 {
		return blob{}, false
	}
	return l.Blobs[i], true
}

// A blob is a layer that was compressed.
type blob struct {
	Compressor string `json:"compressor"`
	File       string `json:"file"`
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"`
}

const indexName = "index.json"

// updateCorpus replaces the layers of a series in index.json and keeps those of others.
func updateCorpus(dir, series string, layers []layer) error {
	c, err := readCorpus(dir)
	if errors.Is(err, fs.ErrNotExist) {
		c, err = new(corpus), nil
	}
	if err != nil {
		return err
	}
	c.Go = runtime.Version()
	c.Layers = slices.DeleteFunc(c.Layers, func(l layer) bool { return l.Series == series })
	c.Layers = append(c.Layers, layers...)
	return c.write(dir)
}

// pairs returns the pairs of layers that are measured, the older one first.
func (c *corpus) pairs() [][2]layer {
	var pairs [][2]layer
	for _, l := range c.Layers {
		i := slices.IndexFunc(c.Layers, func(o layer) bool { return o.Series == l.Series && o.Version == l.Base })
		if i >= 0 {
			pairs = append(pairs, [2]layer{c.Layers[i], l})
		}
	}
	return pairs
}

func readCorpus(dir string) (*corpus, error) {
	b, err := os.ReadFile(filepath.Join(dir, indexName))
	if err != nil {
		return nil, fmt.Errorf("reading the corpus: %w; run deltacorpus build first", err)
	}
	c := new(corpus)
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("reading %s: %w", indexName, err)
	}
	return c, nil
}

func (c *corpus) write(dir string) error {
	b, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, indexName), func(f *os.File) error {
		_, err := f.Write(append(b, '\n'))
		return err
	})
}

// writeFile writes a file under a temporary name first: a file that exists is complete.
func writeFile(name string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".tmp-")
	if err != nil {
		return err
	}
	defer func() {
		_ = f.Close()
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
