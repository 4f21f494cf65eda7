package convert

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/archive/ocarchive"
)

// The limits of the files of a chart that are read: of each, and of all together.
const (
	maxChartFile  = 4 << 20
	maxChartFiles = 256 << 20
)

// imageInText matches an image with its registry in the text of a chart.
var imageInText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`((?:[a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+(?::[0-9]+)?|localhost(?::[0-9]+)?)/([a-z0-9]+(?:[._/-]+[a-z0-9]+)*)`)
})

// addCharts finds the registries of images in the charts of repositories, which travel in the archive. Charts are not rendered here: their
// texts are searched for the repositories of the archive whose registry is unknown. One that has two registries in them stays unknown.
func (n *names) addCharts(tags []ocarchive.Tag) error {
	hosts := map[string]map[string]bool{}
	for _, t := range tags {
		if n.hosts[t.Repository] == "" {
			hosts[t.Repository] = map[string]bool{}
		}
	}
	for _, file := range n.from.Files(ocarchive.WorkingDir + "helm/charts/") {
		archive, err := n.from.Text(file)
		if err != nil {
			return err
		}
		err = readChart(archive, func(host, repository string) {
			if found, ok := hosts[repository]; ok {
				found[host] = true
			}
		})
		if err != nil {
			n.notes = append(n.notes, fmt.Sprintf("the chart %s in the archive cannot be read: %v", file, err))
		}
	}
	for repository, found := range hosts {
		for host := range found {
			if len(found) == 1 {
				n.hosts[repository] = host
			}
		}
	}
	return nil
}

// readChart calls found for each image with a registry that the values and templates of a chart name.
func readChart(archive []byte, found func(host, repository string)) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	for in := tar.NewReader(io.LimitReader(unzipped, maxChartFiles)); ; {
		h, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		isValues, isTemplate := path.Base(h.Name) == "values.yaml", strings.Contains(h.Name, "/templates/")
		if h.Typeflag != tar.TypeReg || !isValues && !isTemplate {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(in, maxChartFile))
		if err != nil {
			return err
		}
		for _, m := range imageInText().FindAllSubmatch(text, -1) {
			found(string(m[1]), string(m[2]))
		}
		var values any
		if isValues && yaml.Unmarshal(text, &values) == nil {
			readValues(values, found)
		}
	}
}

// readValues finds images whose registry and repository are two values side by side.
func readValues(values any, found func(host, repository string)) {
	switch v := values.(type) {
	case map[string]any:
		host, _ := v["registry"].(string)
		for _, key := range []string{"repository", "image", "name"} {
			if repository, _ := v[key].(string); host != "" && repository != "" {
				found(host, repository)
			}
		}
		for _, below := range v {
			readValues(below, found)
		}
	case []any:
		for _, below := range v {
			readValues(below, found)
		}
	}
}
