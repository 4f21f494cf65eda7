// Package charttest makes charts for tests, and a renderer that understands as much of a chart as tests
// need, so that tests of gantry do not build Helm.
package charttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/chart/render"
)

// Archive returns the archive of files, which are in the folder "chart".
func Archive(files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_ = t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(files[name])), Mode: 0o644}) // into memory, like the others
		_, _ = io.WriteString(t, files[name])
	}
	_ = t.Close()
	_ = z.Close()
	return b.Bytes()
}

// Chart returns the archive of a chart whose template names images.
func Chart(name, version string, images ...string) []byte {
	template := ""
	for _, image := range images {
		template += "image: " + image + "\n"
	}
	return Archive(map[string]string{
		"chart/Chart.yaml":              fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, version),
		"chart/templates/workload.yaml": template,
	})
}

// image matches the images of templates for Serve: "image: REFERENCE".
var image = regexp.MustCompile(`(?m)^image: (\S+)$`)

// Serve answers requests like gantry-helm, and returns the exit status. The images of a chart are those that
// its templates name in lines "image: REFERENCE", in which TAG stands for values.tag. Some texts in
// templates make it misbehave: "fail" is an error of the chart, "crash" and "memory" end the process, "hang"
// never answers, "babble" answers without an end, "old" is of another version.
func Serve(in io.Reader, out, errs io.Writer) (status int) {
	requests, responses := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r render.Request
		if err := requests.Decode(&r); err != nil {
			return 0 // usually the end
		}
		text, err := templates(r.Chart)
		switch {
		case strings.Contains(text, "crash"):
			fmt.Fprintln(errs, "panic: a crash")
			return 2
		case strings.Contains(text, "memory"):
			return render.ExitMemory
		case strings.Contains(text, "hang"):
			_, _ = io.Copy(io.Discard, in) // until it is killed
		case strings.Contains(text, "babble"):
			for err == nil {
				_, err = out.Write(bytes.Repeat([]byte(" "), 1<<20))
			}
			return 1
		}
		if err := responses.Encode(respond(&r, text, err)); err != nil {
			return 1
		}
	}
}

// respond returns the response for a chart with a text, or with an error.
func respond(r *render.Request, text string, err error) *render.Response {
	response := &render.Response{Version: render.ProtocolVersion}
	fail := func(kind, message string) *render.Response {
		response.Error = &render.Error{Kind: kind, Message: message}
		return response
	}
	if err != nil {
		return fail(render.ChartError, err.Error())
	}
	tag := "latest"
	for _, v := range r.Values {
		var values struct{ Tag string }
		if err := json.Unmarshal(v.Data, &values); err != nil {
			return fail(render.InputError, v.Name+": "+err.Error())
		}
		tag = values.Tag
	}
	switch {
	case strings.Contains(text, "fail"):
		return fail(render.ChartError, "templates/workload.yaml: set the password")
	case strings.Contains(text, "old"):
		response.Version = 0
	}
	for _, m := range image.FindAllStringSubmatch(text, -1) {
		response.Images = append(response.Images, render.Image{Name: strings.ReplaceAll(m[1], "TAG", tag), Owner: "Deployment web"})
	}
	return response
}

// templates returns the text of all templates of a chart.
func templates(chart []byte) (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(chart))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return all.String(), nil
		} else if err != nil {
			return "", err
		}
		if strings.Contains(h.Name, "/templates/") {
			if _, err := io.Copy(&all, t); err != nil {
				return "", err
			}
		}
	}
}

// Index returns the index of a repository with charts in the order of versions, "NAME VERSION SHA256".
func Index(versions ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nentries:\n")
	last := ""
	for _, v := range versions {
		f := strings.Fields(v)
		if f[0] != last {
			fmt.Fprintf(&b, "  %s:\n", f[0])
		}
		last = f[0]
		fmt.Fprintf(&b, "  - apiVersion: v2\n    created: \"%s\"\n    description: |\n      A chart.\n\n      entries:\n    name: %s\n    urls:\n    - %s-%s.tgz\n    version: %s\n",
			time.Unix(0, 0).UTC().Format(time.RFC3339), f[0], f[0], f[1], f[1])
		if len(f) > 2 {
			fmt.Fprintf(&b, "    digest: %s\n", f[2])
		}
	}
	b.WriteString("generated: \"2026-01-01T00:00:00Z\"\n")
	return b.String()
}
