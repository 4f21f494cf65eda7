package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
)

func (a *app) catalogValidateCommand() *cobra.Command {
	var f readFlags
	var form string
	c := &cobra.Command{
		Use:   "validate CATALOG",
		Short: "Say whether OLM takes a catalog, and everything that is wrong with it",
		Long: `Validate judges a catalog by the rules of OLM's own validator and names all that
it finds, each with file, line and rule; that validator stops at the first.

` + catalogHelp + `
` + exitStatusHelp,
		Example: `  gantry catalog validate ./catalog
  gantry catalog validate quay.io/org/catalog:v4.20 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.catalogValidate(cmd.Context(), f, form, args[0])
		},
	}
	f.addFlags(c.Flags())
	formFlag(c.Flags(), &form, "form of the verdict: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

// A fault is one thing that is wrong with a catalog, as the JSON has it.
type fault struct {
	Rule    string `json:"rule"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

func (a *app) catalogValidate(ctx context.Context, f readFlags, form, arg string) error {
	if err := a.form(form, outputText, outputJSON, outputYAML); err != nil {
		return err
	}
	r, err := a.read(&f)
	if err != nil {
		return err
	}
	defer a.done(r)
	judge := validate.NewJudge()
	c, err := r.read(ctx, arg, judge.Options())
	var unread *catalog.Error
	var invalid *validate.Error
	faults := []fault{}
	switch {
	case errors.As(err, &unread):
		for _, p := range unread.Problems {
			faults = append(faults, fault{"grammar", p.File, p.Line, p.Message})
		}
	case err != nil:
		return err
	default:
		if errors.As(judge.Catalog(c), &invalid) {
			for _, p := range invalid.Problems {
				faults = append(faults, fault{string(p.Rule), p.File, p.Line, p.Message})
			}
		}
	}
	if form != outputText {
		err = a.print(form, struct {
			Version  int     `json:"version"`
			Catalog  string  `json:"catalog"`
			Passed   bool    `json:"passed"`
			Problems []fault `json:"problems"`
		}{1, arg, len(faults) == 0, faults})
	} else {
		err = a.printFaults(c, arg, faults)
	}
	if err == nil && len(faults) > 0 {
		err = &invalidError{catalog: arg, faults: len(faults)}
	}
	return err
}

// valid is an error with everything that OLM would not take of a catalog.
func valid(c *catalog.Catalog, arg string) error {
	err := validate.Catalog(c)
	var invalid *validate.Error
	if errors.As(err, &invalid) {
		return fmt.Errorf("%w\n%w", &invalidError{catalog: arg, faults: len(invalid.Problems)}, err)
	}
	return err
}

// An invalidError says that OLM would not take a catalog; the list has been
// printed.
type invalidError struct {
	catalog string
	faults  int
}

func (e *invalidError) Error() string {
	return fmt.Sprintf("catalog %s breaks rules of OLM: %s", e.catalog, number(e.faults, "problem", "problems"))
}

func (a *app) printFaults(c *catalog.Catalog, arg string, faults []fault) error {
	for _, f := range faults {
		at := f.File
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, f.Line)
		}
		if at != "" {
			at += ": "
		}
		if err := a.text(fmt.Sprintf("%s%s (%s)\n", at, f.Message, f.Rule)); err != nil {
			return err
		}
	}
	if len(faults) > 0 {
		return nil
	}
	channels, bundles := 0, 0
	for _, p := range c.Packages {
		channels += len(p.Channels)
		bundles += len(p.Bundles)
	}
	return a.text(fmt.Sprintf("%s: valid (%s, %s, %s)\n", arg, number(len(c.Packages), "package", "packages"),
		number(channels, "channel", "channels"), number(bundles, "bundle", "bundles")))
}
