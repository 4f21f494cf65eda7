package build

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
)

// chartText returns the text of all files of a chart.
func chartText(archive []byte) (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for t := tar.NewReader(z); ; {
		if _, err := t.Next(); errors.Is(err, io.EOF) {
			return b.String(), nil
		} else if err != nil {
			return "", err
		}
		if _, err := io.Copy(&b, t); err != nil {
			return "", err
		}
	}
}
