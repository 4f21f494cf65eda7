package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/plan"
)

// filterFlags are those of gantry catalog filter.
type filterFlags struct {
	readFlags
	selectFlags
	outputDir string
	files     string
	images    string
	form      string
}

func (a *app) catalogFilterCommand() *cobra.Command {
	var f filterFlags
	c := &cobra.Command{
		Use:   "filter -c FILE --output-dir DIR",
		Short: "Write the catalogs that a configuration leaves, as folders of files",
		Long: `Filter applies an ImageSetConfiguration to its catalogs and writes each result as
a folder DIR/NAME of file-based catalog files, named like the catalog, whole or not
at all. No image is looked up and no destination is needed. The result on stdout
says which bundles were kept and why; with -o json also every image that they name.

` + exitStatusHelp,
		Example: `  gantry catalog filter -c imageset.yaml --output-dir filtered
  gantry catalog filter -c imageset.yaml --output-dir filtered --images images.txt
  gantry catalog filter -c imageset.yaml --output-dir filtered -o json | jq '.catalogs[].packages'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.catalogFilter(cmd.Context(), f)
		},
	}
	f.readFlags.addFlags(c.Flags())
	f.selectFlags.addFlags(c.Flags(), wayKept)
	c.Flags().StringVar(&f.outputDir, "output-dir", "", "folder for the filtered catalogs")
	c.Flags().StringVar(&f.files, "files", string(folder.JSON), "form of the files: json or yaml")
	c.Flags().StringVar(&f.images, "images", "", "write the images that the catalogs name to this file, one a line, sorted")
	formFlag(c.Flags(), &f.form, "form of the report: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

// A filtered is what became of one catalog, as the report has it.
type filtered struct {
	Source       string         `json:"source"`
	SourceDigest string         `json:"sourceDigest,omitempty"`
	Folder       string         `json:"folder"`
	Packages     []plan.Package `json:"packages"`
}

func (a *app) catalogFilter(ctx context.Context, f filterFlags) error {
	form, err := fileForm(f.files)
	if err == nil {
		err = a.form(f.form, outputText, outputJSON, outputYAML)
	}
	if err == nil && f.outputDir == "" {
		err = usagef("where to? give a folder with --output-dir")
	}
	if err == nil {
		err = cmp.Or(f.load(), f.operatorsOnly())
	}
	if err != nil {
		return err
	}
	names := folderNames(f.loaded.Mirror.Operators)
	for _, name := range names {
		if err := folder.Check(filepath.Join(f.outputDir, name)); err != nil {
			return foreign(err)
		}
	}
	r, err := a.read(&f.readFlags)
	if err != nil {
		return err
	}
	defer a.done(r)
	selection, err := plan.Select(ctx, f.loaded, r.from(), plan.Options{Log: a.log, Installed: f.operators})
	if err != nil {
		return err
	}
	report := struct {
		Version  int        `json:"version"`
		Catalogs []filtered `json:"catalogs"`
		Images   []string   `json:"images"`
		Notes    []string   `json:"notes"`
	}{1, []filtered{}, imagesOf(selection), append([]string{}, selection.Notes...)}
	for i, s := range selection.Catalogs {
		dir := filepath.Join(f.outputDir, names[i])
		if err := folder.Write(ctx, dir, s.Result.Catalog, form); err != nil {
			return foreign(err)
		}
		report.Catalogs = append(report.Catalogs, filtered{s.Catalog.Source, s.Catalog.SourceDigest.String(), dir, s.Catalog.Packages})
	}
	if f.images != "" {
		if err := durable.WriteFile(f.images, []byte(lines(report.Images))); err != nil {
			return err
		}
	}
	if f.form != outputText {
		return a.print(f.form, report)
	}
	return a.text(selectionTable(selection, names, f.outputDir, len(report.Images)))
}

// lines is a text of one line each.
func lines(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, "\n") + "\n"
}

// imagesOf are the images that the filtered catalogs name, sorted, each once.
func imagesOf(s *plan.Selection) []string {
	images := map[string]bool{}
	for _, c := range s.Catalogs {
		for _, p := range c.Result.Catalog.Packages {
			for _, b := range p.Bundles {
				images[b.Image] = true
				for _, r := range b.RelatedImages {
					images[r.Image] = true
				}
			}
		}
	}
	delete(images, "")
	return append([]string{}, slices.Sorted(maps.Keys(images))...)
}

// folderNames names a folder for each catalog: the last part of its target or
// source, with its tag. Where two would have one name, all of them get a number.
func folderNames(catalogs []imageset.Operator) []string {
	names, taken := make([]string, len(catalogs)), map[string]int{}
	for i, c := range catalogs {
		source, _, _ := strings.Cut(c.Catalog, "@")
		name, tag, _ := strings.Cut(path.Base(source), ":")
		if c.TargetCatalog != "" {
			name, tag = path.Base(c.TargetCatalog), ""
		}
		names[i] = safeName(strings.TrimSuffix(name+"-"+cmp.Or(c.TargetTag, tag), "-"))
		taken[names[i]]++
	}
	for i, name := range names {
		if taken[name] == 1 {
			continue
		}
		for names[i] = name; taken[names[i]] > 0; {
			names[i] += fmt.Sprintf("-%d", i+1)
		}
		taken[names[i]]++
	}
	return names
}

// selectionTable says for a person what was kept of each catalog.
func selectionTable(s *plan.Selection, names []string, dir string, images int) string {
	var b strings.Builder
	for i, c := range s.Catalogs {
		fmt.Fprintf(&b, "Catalog %s\n  written to %s\n\n", c.Catalog.Name(), filepath.Join(dir, names[i]))
		writeKept(&b, c.Catalog, nil)
	}
	if len(s.Notes) > 0 {
		b.WriteString("Notes\n")
		list(&b, s.Notes)
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "Images   %d\n", images)
	return b.String()
}
