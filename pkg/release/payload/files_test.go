package payload

import (
	"archive/tar"
	"errors"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/layers"
)

// TestLimits reads a manifest with little left of what may be held and read.
func TestLimits(t *testing.T) {
	const text = policyText
	add := func(held int, left int64) error {
		f := &found{left: layers.NewBudget(left), seen: map[string]bool{}, held: held}
		return f.add(&tar.Header{Name: manifestsDir + "/policy.yaml", Typeflag: tar.TypeReg, Size: int64(len(text))}, strings.NewReader(text))
	}
	size := len(text)
	if err := add(maxHeld-size, int64(size)); err != nil {
		t.Error(err)
	}
	if err := add(maxHeld-size+1, int64(size)); err == nil || !strings.Contains(err.Error(), "files that are held have more than 134217728 bytes") {
		t.Errorf("held too much: %v", err)
	}
	// What a sparse file reads as is not in the archive, and counts all the same.
	if err := add(0, int64(size)-1); !errors.Is(err, layers.ErrTooLarge) {
		t.Errorf("unpacked too much: %v", err)
	}
}
