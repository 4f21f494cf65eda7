package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/plan"
)

// buildFlags are those of gantry catalog build.
type buildFlags struct {
	readFlags
	base, form string
}

func (a *app) catalogBuildCommand() *cobra.Command {
	var f buildFlags
	c := &cobra.Command{
		Use:   "build CATALOG {docker://HOST[:PORT]/REPOSITORY[:TAG] | oci://DIR}",
		Short: "Build a catalog's image and push it, without podman",
		Long: `Build makes the image of a catalog and pushes it, or writes it into an OCI layout
under the name of the folder; what the layout holds under other names stays there.
The catalog has to be valid. Without --base the image holds the catalog and nothing
else, for linux on amd64, arm64, ppc64le and s390x: a CatalogSource then needs
grpcPodConfig.extractContent. With --base, mostly an image with opm, it serves
itself, on the platforms that the base has.

The same catalog on the same base gives the same digest.

` + catalogHelp + `
` + exitStatusHelp,
		Example: `  gantry catalog build ./catalog docker://registry.example.com:5000/org/catalog:v4.20
  gantry catalog build ./catalog docker://registry.example.com/org/catalog:v1 --base quay.io/operator-framework/opm:v1.60.0
  gantry catalog build ./catalog oci://layout`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.catalogBuild(cmd.Context(), f, args[0], args[1])
		},
	}
	f.sides.addFlags(c.Flags())
	c.Flags().StringVar(&f.workspace, "workspace", defaultWorkspace, "folder whose cache is used, where it exists")
	c.Flags().StringVar(&f.base, "base", "", "image to build on, such as one with opm; none by default")
	formFlag(c.Flags(), &f.form, "form of the result: text or json", outputText, outputJSON)
	return c
}

// publishTarget takes a destination apart: where it is, and what the image is
// called there.
func (a *app) publishTarget(f *buildFlags, dest string) (t target, repository, tag string, err error) {
	if dir, ok := strings.CutPrefix(dest, ociScheme); ok && dir != "" {
		name := strings.ToLower(filepath.Base(dir))
		if strings.ContainsAny(name, ":@") {
			return nil, "", "", usagef("destination %q: give the folder alone, which names the image", dest)
		}
		if !reference.IsPath(name) {
			name = "catalog"
		}
		t, err = a.target(dest, targetOptions{sides: &f.sides, addToLayout: true})
		return t, name, "latest", err
	}
	text, ok := strings.CutPrefix(dest, dockerScheme)
	if !ok {
		return nil, "", "", usagef("destination %q: write docker://HOST[:PORT]/REPOSITORY[:TAG] or oci://DIR", dest)
	}
	ref, err := reference.Parse(text)
	switch {
	case err != nil:
		return nil, "", "", usagef("destination %q: %w", dest, err)
	case reference.IsShort(text): // which would be docker.io
		return nil, "", "", usagef("destination %q: it names no registry and repository; write docker://HOST[:PORT]/REPOSITORY[:TAG]", dest)
	case ref.Digest != "":
		return nil, "", "", usagef("destination %q: give a tag in place of the digest, which follows from the content", dest)
	}
	t, err = a.target(dockerScheme+ref.Host, targetOptions{sides: &f.sides})
	return t, ref.Path, cmp.Or(ref.Tag, "latest"), err
}

func (a *app) catalogBuild(ctx context.Context, f buildFlags, arg, dest string) error {
	if err := a.form(f.form, outputText, outputJSON); err != nil {
		return err
	}
	t, repository, tag, err := a.publishTarget(&f, dest)
	if err != nil {
		return err
	}
	r, err := a.read(&f.readFlags)
	if err != nil {
		return err
	}
	defer a.done(r)
	c, err := r.read(ctx, arg, catalog.Options{})
	if err != nil {
		return err
	}
	if err := valid(c, arg); err != nil {
		return err
	}
	p, err := plan.Publish(ctx, c, f.base, repository, tag, r.from())
	if err != nil {
		return err
	}
	streams, err := f.streams()
	if err != nil {
		return err
	}
	report, err := t.mirror(ctx, p, r.origin, mirror.Options{Streams: streams, Fatal: fatal, Log: a.log})
	if err == nil && len(report.Failed) > 0 {
		err = report.Failed[0].Err
	}
	if err != nil {
		return fmt.Errorf("publishing %s: %w", dest, err)
	}
	img := p.Images[0]
	name := dest
	if strings.HasPrefix(dest, dockerScheme) {
		name = fmt.Sprintf("%s:%s@%s", strings.TrimSuffix(dest[len(dockerScheme):], ":"+tag), tag, img.Digest)
	}
	if a.output == outputJSON {
		return a.encode(struct {
			Version    int    `json:"version"`
			Image      string `json:"image"`
			Digest     string `json:"digest"`
			BinaryLess bool   `json:"binaryLess"`
		}{1, name, img.Digest.String(), f.base == ""})
	}
	for _, note := range p.Notes {
		a.say("note: %s", note)
	}
	return a.text(fmt.Sprintf("%s\n%s\n", name, img.Digest))
}
