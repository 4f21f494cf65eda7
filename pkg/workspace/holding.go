package workspace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Holdings gives what was saved of a mirror, one plan after the other. read has
// to take the next value of dec. The texts may be long, so that none is held.
func (w *Workspace) Holdings(mirror string, read func(plan string, dec *json.Decoder) error) error {
	f, err := w.disk.Root.Open(holdings(mirror))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = eachHolding(json.NewDecoder(bufio.NewReaderSize(f, 64<<10)), read)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w; remove it, and the next run of each configuration writes it again", filepath.Join(w.dir, holdings(mirror)), err)
	}
	return nil
}

func eachHolding(dec *json.Decoder, read func(plan string, dec *json.Decoder) error) error {
	if t, err := dec.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("it begins with %v and is no object", t)
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string) // nothing else can be a name
		if err := read(name, dec); err != nil {
			return fmt.Errorf("what is held of %s: %w", name, err)
		}
	}
	_, err := dec.Token()
	return err
}

// SaveHolding replaces what the mirror holds of one plan by the JSON that write
// writes. The texts of other plans are copied.
func (w *Workspace) SaveHolding(mirror, plan string, write func(io.Writer) error) error {
	return w.disk.Write(holdings(mirror), func(out io.Writer) error {
		separator := "{\n"
		begin := func(name string) error {
			key, err := json.Marshal(name)
			if err == nil {
				_, err = fmt.Fprintf(out, "%s%s: ", separator, key)
			}
			separator = ",\n"
			return err
		}
		err := begin(plan)
		if err == nil {
			err = write(out)
		}
		if err == nil {
			err = w.Holdings(mirror, func(name string, dec *json.Decoder) error {
				var text json.RawMessage
				if err := dec.Decode(&text); err != nil || name == plan {
					return err
				}
				if err := begin(name); err != nil {
					return err
				}
				_, err := out.Write(text)
				return err
			})
		}
		if err == nil {
			_, err = io.WriteString(out, "\n}\n")
		}
		return err
	})
}

// holdings is the file of a mirror.
func holdings(mirror string) string { return "mirrors/" + mirror + ".json" }
