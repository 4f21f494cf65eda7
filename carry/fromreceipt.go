package carry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/receipt"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
)

// fromReceipt builds on what a site has by its receipt.
func (l *lineage) fromReceipt(file string, policy *sshsig.Policy) error {
	r, err := readReceipt(file, policy)
	if err != nil {
		return err
	}
	n := len(r.Sets)
	switch {
	case r.Name != l.name:
		return requestf("give the receipt of the same configuration, or its name with --name", "--receipt: %s is of %q, and the archive would be of %q", file, r.Name, l.name)
	case n == 0:
		return requestf("write all content with --full", "--receipt: by %s, the site imported no archive whole", file)
	}
	last := r.Sets[n-1]
	for _, c := range l.past {
		if c.Sequence == last.Sequence && c.Set != last.Set {
			return requestf("use the workspace that it was written with, or write all content with --full",
				"--receipt: the site imported a sequence %d that this workspace did not write", c.Sequence)
		}
	}
	l.base = &base{set: last, plan: r.Plan, receipt: r, where: Where{Last: last.Sequence, Receipt: true}}
	l.after = max(l.after, last.Sequence)
	return nil
}

// readReceipt reads a receipt, if it is signed as it has to be. It is read once, so that
// what is used is what was checked.
func readReceipt(file string, policy *sshsig.Policy) (*receipt.Receipt, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, requestf("", "--receipt: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, receipt.MaxSize+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, requestf("", "--receipt: %w", err)
	}
	if policy != nil {
		var armored []byte
		signature, err := os.Open(file + signatureSuffix)
		if err == nil {
			armored, err = io.ReadAll(io.LimitReader(signature, sshsig.MaxSize))
			err = errors.Join(err, signature.Close())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading the signature of the receipt: %w", err)
		}
		if _, err := policy.Check(archive.SignatureNamespace, bytes.NewReader(text), armored); err != nil {
			return nil, mismatchf("", "the receipt %s is refused: %v", file, err)
		}
	}
	r, err := receipt.Read(bytes.NewReader(text))
	if err != nil {
		return nil, requestf("", "%s: %w", file, err)
	}
	return r, nil
}

// signatureSuffix is how the name of a receipt's signature ends.
const signatureSuffix = ".sig"
