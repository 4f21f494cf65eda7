package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"filippo.io/age"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// A pieceReader reads pieces of content one after the other, from an offset.
type pieceReader struct {
	pieces    []piece
	offset    int64 // in the content
	size      int64
	last      *piece    // that was read from
	decrypted io.Reader // the rest of its content, if it is encrypted
}

func (j *pieceReader) Read(b []byte) (int, error) {
	if j.offset >= j.size {
		return 0, io.EOF
	}
	for len(j.pieces) > 0 && j.pieces[0].end() <= j.offset {
		j.pieces, j.decrypted = j.pieces[1:], nil
	}
	if len(j.pieces) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	p := &j.pieces[0]
	j.last = p
	b = b[:min(int64(len(b)), p.end()-j.offset)]
	var n int
	var err error
	if p.entry.Encrypted != nil {
		n, err = j.decrypt(b)
	} else {
		n, err = p.file.ReadAt(b, p.entry.Offset+j.offset-p.start())
	}
	j.offset += int64(n)
	if err == io.EOF && n > 0 {
		err = nil // the next read returns the end of a file that is too short
	}
	return n, err
}

func (j *pieceReader) Close() error { return nil }

// decrypt reads on in the current piece.
func (j *pieceReader) decrypt(b []byte) (int, error) {
	p := &j.pieces[0]
	if j.decrypted == nil {
		var err error
		if j.decrypted, err = p.openDecrypted(j.offset - p.start()); err != nil {
			return 0, p.decryptError(err)
		}
	}
	n, err := j.decrypted.Read(b)
	if err != nil && err != io.EOF {
		err = p.decryptError(err)
	}
	return n, err
}

// openDecrypted reads the content of an encrypted piece from an offset.
func (p *piece) openDecrypted(from int64) (io.Reader, error) {
	file := p.entry.Encrypted
	section := io.NewSectionReader(p.file, file.Offset, file.Size)
	if from == 0 {
		return age.Decrypt(bufio.NewReaderSize(section, int(min(decryptBuffer, file.Size))), p.member.key)
	}
	plain, size, err := age.DecryptReaderAt(section, file.Size, p.member.key)
	if err != nil {
		return nil, err
	}
	if size < p.entry.Size {
		return nil, fmt.Errorf("it has %d of %d bytes", size, p.entry.Size)
	}
	return io.NewSectionReader(plain, from, p.entry.Size-from), nil
}

// decryptError returns an error of decrypting as corruption, unless it is an error of the disk.
func (p *piece) decryptError(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return err
	}
	e := p.entry
	return &layout.CorruptError{Digest: e.Digest, Where: e.Encrypted.path(), Problem: "it does not decrypt: " + err.Error()}
}
