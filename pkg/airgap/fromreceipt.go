package airgap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/regular"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// baseFromReceipt builds on what a site has by its receipt.
func (l *history) baseFromReceipt(file string, policy *sshsig.Policy) error {
	r, err := readReceipt(file, policy)
	if err != nil {
		return err
	}
	n := len(r.Sets)
	switch {
	case r.Name != l.name:
		return advice.New(advice.Input, "set Options.Receipt to the receipt of this configuration, or Options.Name to the name in the receipt", "the receipt %s is of %q, and the archive would be of %q", file, r.Name, l.name)
	case n == 0:
		return advice.New(advice.Input, "write all content with Options.Full", "by the receipt %s, the site imported no complete archive", file)
	}
	last := r.Sets[n-1]
	for _, c := range l.exports {
		if c.Sequence == last.Sequence && c.Set != last.Set {
			return advice.New(advice.Input, "use the workspace that wrote it, or write all content with Options.Full",
				"by the receipt %s, the site imported a sequence %d that this workspace did not write", file, c.Sequence)
		}
	}
	if err := l.ws.SaveSiteReader(l.name, r.Reads); err != nil {
		return err
	}
	l.base = &base{set: last, plan: r.Plan, receipt: r, bases: BaseRange{Last: last.Sequence, Receipt: true}}
	l.after = max(l.after, last.Sequence)
	return nil
}

// readReceipt reads a receipt and checks its signature. The file is read once, so that what is used
// is what was checked.
func readReceipt(file string, policy *sshsig.Policy) (*state.Receipt, error) {
	f, err := regular.OpenInput(file)
	if err != nil {
		return nil, advice.New(advice.Input, "", "reading the receipt: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, state.MaxReceiptSize+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, advice.New(advice.Input, "", "reading the receipt: %w", err)
	}
	if policy != nil {
		var armored []byte
		signature, err := regular.OpenInput(file + signatureSuffix)
		if err == nil {
			armored, err = io.ReadAll(io.LimitReader(signature, sshsig.MaxSize))
			err = errors.Join(err, signature.Close())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading the signature of the receipt: %w", err)
		}
		if _, err := policy.Check(archive.SignatureNamespace, bytes.NewReader(text), armored); err != nil {
			return nil, advice.New(advice.Mismatch, "", "the receipt %s is refused: %v", file, err)
		}
	}
	r, err := state.ReadReceipt(bytes.NewReader(text))
	if err != nil {
		return nil, advice.New(advice.Input, "", "%s: %w", file, err)
	}
	return r, nil
}

// signatureSuffix ends the name of a receipt's signature.
const signatureSuffix = ".sig"
