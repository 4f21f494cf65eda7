package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/opencontainers/go-digest"
)

// childVerb is the command that the program runs itself with, so that the peak memory of a process is
// the memory of one task.
const childVerb = "measure-task"

const (
	taskDetect  = "detect"
	taskEncode  = "encode"
	taskRebuild = "rebuild"
)

// A job is a task for a child process. File names are complete.
type job struct {
	Task     string
	Old, New layer
	Max      bool
	Recipes  [][]byte // of the new layer's blobs; nil if a blob cannot be reproduced
	Delta    string   // the file that encode writes and rebuild reads
	Content  string   // the file for the rebuilt tar archive
}

// A result is what a child process found, with one value for each blob.
type result struct {
	Recipes [][]byte
	Found   []string
	Sizes   []int64   // of the deltas
	Rebuilt []bool    // exactly
	CPU     []float64 // seconds; encode: one value
	Decode  float64   // seconds
}

// inChild runs a job in a process of its own and returns its peak memory.
func (j job) inChild(ctx context.Context) (result, int64, error) {
	var r result
	self, err := os.Executable()
	if err != nil {
		return r, 0, err
	}
	in, err := json.Marshal(j)
	if err != nil {
		return r, 0, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, self, childVerb)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return r, 0, fmt.Errorf("%s: %w", j.Task, err)
	}
	var peak int64
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = usage.Maxrss << 10 // in kilobytes on Linux, see getrusage(2)
	}
	return r, peak, json.Unmarshal(out.Bytes(), &r)
}

// runChild is the child process.
func runChild(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	var j job
	if err := json.NewDecoder(stdin).Decode(&j); err != nil {
		return err
	}
	var r result
	var err error
	switch j.Task {
	case taskDetect:
		r, err = j.detect(ctx)
	case taskEncode:
		r, err = j.encode(ctx)
	case taskRebuild:
		r, err = j.rebuild(ctx)
	default:
		err = fmt.Errorf("unknown task %q", j.Task)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(r)
}

func (j job) detect(ctx context.Context) (result, error) {
	var r result
	for _, b := range j.New.Blobs {
		f, err := os.Open(b.File)
		if err != nil {
			return r, err
		}
		began := cpu()
		recipe, _, err := recompress.Detect(ctx, f, b.Size, recompress.DetectOptions{})
		r.CPU = append(r.CPU, cpu()-began)
		_ = f.Close()
		switch {
		case errors.Is(err, recompress.ErrNotReproducible):
			r.Recipes, r.Found = append(r.Recipes, nil), append(r.Found, "")
		case err != nil:
			return r, err
		default:
			m, err := recipe.MarshalBinary()
			if err != nil {
				return r, err
			}
			r.Recipes, r.Found = append(r.Recipes, m), append(r.Found, recipe.Compressor())
		}
	}
	return r, nil
}

func (j job) encode(ctx context.Context) (result, error) {
	var r result
	from, err := os.Open(j.Old.Tar)
	if err != nil {
		return r, err
	}
	defer func() { _ = from.Close() }()
	to, err := os.Open(j.New.Tar)
	if err != nil {
		return r, err
	}
	defer func() { _ = to.Close() }()
	target := delta.Target{Digest: sha(j.New.Blobs[0].SHA256), Size: j.New.Blobs[0].Size, Content: to, ContentSize: j.New.Size, Recipe: j.Recipes[0]}
	bases := []delta.Base{{Digest: sha(j.Old.Blobs[0].SHA256), Content: from, Size: j.Old.Size}}
	o := delta.Options{}
	if j.Max {
		o.Effort = delta.Max
	}
	began := cpu()
	err = writeFile(j.Delta, func(f *os.File) error {
		_, err := delta.Encode(ctx, f, target, bases, o)
		return err
	})
	if err != nil {
		return r, err
	}
	r.CPU = []float64{cpu() - began}
	for i := range j.New.Blobs {
		header, frames, err := j.open(i)
		if err != nil {
			return r, err
		}
		n, err := frames.Seek(0, io.SeekEnd)
		if err != nil {
			return r, err
		}
		r.Sizes = append(r.Sizes, n-j.headerSize(frames)+int64(len(header)))
		_ = frames.Close()
	}
	return r, nil
}

// headerSize returns the length of the header in the file of the delta.
func (j job) headerSize(f *os.File) int64 {
	_, err := f.Seek(0, io.SeekStart)
	if err != nil {
		return 0
	}
	h, err := delta.ReadHeader(f)
	if err != nil {
		return 0
	}
	b, err := h.MarshalBinary()
	if err != nil {
		return 0
	}
	return int64(len(b))
}

// open returns the header of blob i's delta, and the file of the delta.
func (j job) open(i int) ([]byte, *os.File, error) {
	f, err := os.Open(j.Delta)
	if err != nil {
		return nil, nil, err
	}
	h, err := delta.ReadHeader(f)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	b := j.New.Blobs[i]
	h.Digest, h.Size, h.Recipe = sha(b.SHA256), b.Size, j.Recipes[i]
	header, err := h.MarshalBinary()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return header, f, nil
}

// rebuild decodes the delta and compares the content with the new tar archive. For auto, it also makes
// every blob from the content and compares the digests.
func (j job) rebuild(ctx context.Context) (result, error) {
	var r result
	if err := j.decode(ctx, &r); err != nil || j.Max {
		return r, err
	}
	for i, b := range j.New.Blobs {
		exact, seconds, err := j.compress(i)
		if err != nil {
			return r, fmt.Errorf("%s: %w", b.File, err)
		}
		r.Rebuilt, r.CPU = append(r.Rebuilt, exact), append(r.CPU, seconds)
	}
	return r, nil
}

func (j job) decode(ctx context.Context, r *result) error {
	f, err := os.Open(j.Delta)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	from, err := os.Open(j.Old.Tar)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	sum := sha256.New()
	began := cpu()
	err = writeFile(j.Content, func(w *os.File) error {
		_, err := delta.Decode(ctx, io.MultiWriter(w, sum), f, func(int, delta.BaseInfo) (io.ReaderAt, error) { return from, nil }, delta.DecodeOptions{})
		return err
	})
	r.Decode = cpu() - began
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != j.New.SHA256 {
		err = fmt.Errorf("the content of %s was not rebuilt exactly", j.New.Tar)
	}
	return err
}

// compress makes blob i from the rebuilt content and returns whether it is exactly the same.
func (j job) compress(i int) (exact bool, seconds float64, err error) {
	if j.Recipes[i] == nil {
		return false, 0, nil
	}
	recipe, err := recompress.Parse(j.Recipes[i])
	if err != nil {
		return false, 0, err
	}
	f, err := os.Open(j.Content)
	if err != nil {
		return false, 0, err
	}
	defer func() { _ = f.Close() }()
	began := cpu()
	sum := counted{Hash: sha256.New()}
	w, err := recipe.NewWriter(&sum)
	if err != nil {
		return false, 0, err
	}
	if _, err := io.Copy(w, f); err != nil {
		return false, 0, err
	}
	if err := w.Close(); err != nil {
		return false, 0, err
	}
	return sum.n == j.New.Blobs[i].Size && hex.EncodeToString(sum.Sum(nil)) == j.New.Blobs[i].SHA256, cpu() - began, nil
}

// counted is a hash that counts its input.
type counted struct {
	hash.Hash
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Hash.Write(p)
}

func sha(sum string) digest.Digest { return digest.NewDigestFromEncoded(digest.SHA256, sum) }

// cpu returns the processor time of this process so far, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
