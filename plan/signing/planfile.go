package signing

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// maxPlanText is how many bytes of a compressed plan are read, without the compression: as many as plan.Read
// reads, and room to notice that there are more.
const maxPlanText = 256<<20 + 1

// readPlan reads the plan of a file, which may be compressed with gzip, and returns it with the digest of its
// text without the compression.
func readPlan(path string) (*plan.Plan, digest.Digest, error) {
	f, err := regular.OpenInput(path)
	if err != nil {
		return nil, "", env.Inputf("Options.Plan: %w", err)
	}
	sum := digest.SHA256.Digester()
	var p *plan.Plan
	plain, err := planText(f)
	if err == nil {
		text := io.TeeReader(plain, sum.Hash())
		if p, err = plan.Read(text); err == nil {
			_, err = io.Copy(io.Discard, text)
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, "", env.Inputf("%s: %w", path, err)
	}
	if err := state.VerifyPlan(path); err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	return p, sum.Digest(), nil
}

// planText returns the text of a plan, which may be compressed with gzip.
func planText(file io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(file)
	if magic, err := buffered.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return buffered, nil //nolint:nilerr // the error is returned when the text is read
	}
	text, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("decompressing the plan: %w", err)
	}
	return io.LimitReader(text, maxPlanText), nil
}

// ReadPlan reads a plan from a file, which may be compressed with gzip.
func ReadPlan(path string) (*plan.Plan, error) {
	p, _, err := readPlan(path)
	return p, err
}

// KnownPlan returns the plan of a file for a comparison. It returns nil if there is none that can be read, and for a pipe or a
// terminal, which would wait for a plan, or have it only once.
func KnownPlan(path string) *plan.Plan {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	p, err := ReadPlan(path)
	if err != nil {
		return nil
	}
	return p
}
