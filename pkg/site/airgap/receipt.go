package airgap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// siteReceipt returns what a workspace knows of a mirror and a series of archives, or nil.
func siteReceipt(ws *state.Workspace, mirror, series string) (*state.Receipt, error) {
	r, err := readAndClose(ws.OpenReceipt(mirror, series))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		err = fmt.Errorf("reading what %s has of %q: %w", mirror, series, err)
		return nil, advice.Wrap(advice.Failure, err, "remove that file below receipts in the workspace; the mirror is then asked instead")
	}
	return r, nil
}

// readAndClose reads the receipt in a file that was opened, or returns the error of that.
func readAndClose(f io.ReadCloser, err error) (*state.Receipt, error) {
	if err != nil {
		return nil, err
	}
	r, err := state.ReadReceipt(f)
	return r, errors.Join(err, f.Close())
}

// ReceiptOptions are the options of Import.WriteReceipt.
type ReceiptOptions struct {
	// File is the name of a copy of the receipt. If it is empty, no copy is written.
	File string
	// Sign signs the copy, or the receipt in the workspace if File is empty. The signature is
	// written beside it, with ".sig" added to the name. If Sign is nil, nothing is signed.
	Sign func(ctx context.Context, text io.Reader) (signature []byte, err error)
}

// WriteReceipt writes the receipt of the mirror after an import of a plan with this report, and
// returns its file name. It returns "" if the destination is not a mirror. If the archive was imported
// completely, the receipt lists it, and its plan is kept for the next archive, which may leave it
// out.
func (c *Import) WriteReceipt(ctx context.Context, p *plan.Plan, report *mirror.Report, opts ReceiptOptions) (string, error) {
	if c.site == nil {
		return "", nil
	}
	newest := c.Archive.Selected()
	r := &state.Receipt{Name: newest.Series, Reads: archive.Reader(recompress.Supported())}
	if c.receipt != nil {
		r.Sets, r.Plan = c.receipt.Sets, c.receipt.Plan
	}
	var err error
	if r.Repositories, err = mirror.Inventory(p, report); err != nil {
		return "", err
	}
	if c.made == nil && isComplete(report) {
		r.AddSet(newest.SetRef)
		r.Plan = c.Archive.PlanDigest()
		if err := c.keepPlan(ctx); err != nil {
			return "", err
		}
	}
	file, err := c.ws.SaveReceipt(c.site.Name, newest.Series, r.Write)
	if err != nil {
		return "", err
	}
	if err := dropSignature(file); err != nil {
		return "", err
	}
	if opts.File != "" {
		file = opts.File
		if err := durable.Write(file, r.Write); err != nil {
			return "", fmt.Errorf("writing the receipt: %w", err)
		}
		if err := dropSignature(file); err != nil {
			return "", err
		}
	}
	if opts.Sign == nil {
		return file, nil
	}
	return file, signReceipt(ctx, file, opts.Sign)
}

// signReceipt writes the signature of a receipt beside it.
func signReceipt(ctx context.Context, file string, sign func(context.Context, io.Reader) ([]byte, error)) error {
	text, _, err := regular.OpenPath(file)
	if err != nil {
		return fmt.Errorf("signing the receipt: %w", err)
	}
	signature, err := sign(ctx, text)
	if err := errors.Join(err, text.Close()); err != nil {
		return fmt.Errorf("signing the receipt %s: %w", file, err)
	}
	return durable.WriteFile(file+signatureSuffix, signature)
}

// dropSignature removes the signature of the previous receipt in the same file.
func dropSignature(file string) error {
	if err := os.Remove(file + signatureSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the signature of the receipt before: %w", err)
	}
	return nil
}

// isComplete reports whether everything in the archive was copied. Images that the plan marks as
// missing are not in the archive.
func isComplete(report *mirror.Report) bool {
	return len(report.Excluded) == 0 && !slices.ContainsFunc(report.Failed, func(f mirror.Failure) bool { return f.Repository != "" })
}

// keepPlan saves the plan of the archive for the next one, which may leave it out.
func (c *Import) keepPlan(ctx context.Context) error {
	text, err := c.Archive.OpenPlan(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the saved plan is still the right one
	}
	if err != nil {
		return err
	}
	defer text.Close() // only read
	return c.ws.SaveImportedPlan(c.site.Name, c.Archive.Selected().Series, func(w io.Writer) error {
		_, err := io.Copy(w, text)
		return err
	})
}
