package carry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/receipt"
	"github.com/gantry-mirror/gantry/plan"
)

// received is what the workspace knows of a mirror and a series of archives; nil where
// that is nothing.
func (c *Chain) received() (*receipt.Receipt, error) {
	series := c.Archive.Newest().Series
	f, err := c.ws.OpenReceipt(c.site.Name, series)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := receipt.Read(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, &advisedError{fmt.Errorf("what %s has of %q: %w", c.site.Name, series, err), "remove that file below receipts in the workspace, and the mirror is asked instead"}
	}
	return r, nil
}

// NoteOptions say where a receipt goes beside the workspace.
type NoteOptions struct {
	// File gets a copy of it; "" for none.
	File string
	// Sign, where it is not nil, signs the copy, or where there is none the receipt in the
	// workspace. The signature is put beside it, with a name that ends in ".sig".
	Sign func(ctx context.Context, text io.Reader) (signature []byte, err error)
}

// Note writes the receipt of the mirror after an import of a plan, as the report tells
// it, and returns its file; "" where the destination is no mirror. An archive of which
// all came is entered among those that were imported whole, and its plan is kept for
// the next, which may leave it out.
func (c *Chain) Note(ctx context.Context, p *plan.Plan, report *mirror.Report, opts NoteOptions) (string, error) {
	if c.site == nil {
		return "", nil
	}
	newest := c.Archive.Newest()
	r := &receipt.Receipt{Name: newest.Series}
	if c.receipt != nil {
		r.Sets, r.Plan = c.receipt.Sets, c.receipt.Plan
	}
	var err error
	if r.Repositories, err = mirror.Inventory(p, report); err != nil {
		return "", err
	}
	if whole(report) {
		r.Enter(receipt.Set(newest.BaseSet))
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

// signReceipt puts a signature beside a receipt.
func signReceipt(ctx context.Context, file string, sign func(context.Context, io.Reader) ([]byte, error)) error {
	text, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("signing the receipt: %w", err)
	}
	signature, err := sign(ctx, text)
	if err := errors.Join(err, text.Close()); err != nil {
		return fmt.Errorf("signing the receipt %s: %w", file, err)
	}
	return durable.WriteFile(file+signatureSuffix, signature)
}

// dropSignature removes the signature of the receipt that stood in a file before.
func dropSignature(file string) error {
	if err := os.Remove(file + signatureSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the signature of the receipt before: %w", err)
	}
	return nil
}

// whole reports whether all that an archive is about came: what its plan misses is not
// in it.
func whole(report *mirror.Report) bool {
	return len(report.LeftOut) == 0 && !slices.ContainsFunc(report.Failed, func(f mirror.Failure) bool { return f.Repository != "" })
}

// keepPlan keeps the plan of the archive for the next, which may leave it out.
func (c *Chain) keepPlan(ctx context.Context) error {
	text, err := c.Archive.OpenPlan(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is the one that was kept
	}
	if err != nil {
		return err
	}
	defer text.Close() // only read from
	return c.ws.SaveImported(c.site.Name, c.Archive.Newest().Series, func(w io.Writer) error {
		_, err := io.Copy(w, text)
		return err
	})
}
