package airgap

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// baseFromReceipts builds on what all sites have by their receipts.
func (l *history) baseFromReceipts(files []string, policy *sshsig.Policy) error {
	var all *state.Receipt
	for _, file := range files {
		r, err := readReceipt(file, policy)
		if err != nil {
			return err
		}
		if err := l.checkReceipt(file, r); err != nil {
			return err
		}
		l.after = max(l.after, r.Sets[len(r.Sets)-1].Sequence)
		if all == nil {
			all = r
			continue
		}
		all = commonReceipt(all, r)
	}
	if len(all.Sets) == 0 {
		return advice.New(advice.Input, "write an archive for each site, or all content with Options.Full",
			"by the receipts %s, the sites imported no archive in common", strings.Join(files, ", "))
	}
	if err := l.ws.SaveSiteReader(l.name, all.Reads); err != nil {
		return err
	}
	last := all.Sets[len(all.Sets)-1]
	l.base = &base{set: last, plan: all.Plan, receipt: all, bases: BaseRange{Last: last.Sequence, Receipts: len(files)}}
	return nil
}

// checkReceipt returns an error if no archive of the history can build on a receipt.
func (l *history) checkReceipt(file string, r *state.Receipt) error {
	n := len(r.Sets)
	switch {
	case r.Name != l.name:
		return advice.New(advice.Input, "set Options.Receipts to the receipt of this configuration, or Options.Name to the name in the receipt", "the receipt %s is of %q, and the archive would be of %q", file, r.Name, l.name)
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
	return nil
}

// readReceipt reads a receipt and checks its signature. The file is read once, so that what is used
// is what was checked.
func readReceipt(file string, policy *sshsig.Policy) (*state.Receipt, error) {
	text, _, err := regular.ReadInput(file, state.MaxReceiptSize)
	if err != nil {
		return nil, advice.New(advice.Input, "", "reading the receipt: %w", err)
	}
	if policy != nil {
		armored, _, err := regular.ReadInput(file+signatureSuffix, sshsig.MaxSize)
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
