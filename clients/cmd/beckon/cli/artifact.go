package cli

import (
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"os"
	"path/filepath"

	"golang.org/x/term"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type artifactCommand struct {
	Get artifactGetCommand `cmd:"" help:"Download a file of a task by its digest, and check it."`
	Put artifactPutCommand `cmd:"" help:"Inside 'beckon run': keep a file with the task. Its digest is printed."`
}

type artifactView struct {
	SHA256    string `json:"sha256"`
	Size      uint64 `json:"size"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type"`
	TaskID    string `json:"task_id"`
}

func artifactViewOf(a *v1.Artifact) artifactView {
	return artifactView{hex.EncodeToString(a.GetSha256()), a.GetSize(), a.GetName(), a.GetMediaType(), a.GetTaskId()}
}

type artifactGetCommand struct {
	Digest string `arg:""                                                                    help:"SHA-256 of the file, 64 digits."`
	Out    string `help:"File to write, which must not be there; standard output otherwise." name:"out"                             placeholder:"FILE" short:"o" type:"path"`
}

// Run downloads a file. What does not have the digest is not left under the name.
func (c artifactGetCommand) Run(s *session) error {
	sum, err := hex.DecodeString(c.Digest)
	if err != nil || len(sum) != 32 {
		return usage("%q is no SHA-256", c.Digest)
	}
	if c.Out == "" && term.IsTerminal(int(s.out.Fd())) {
		return usage("a file can hold anything and is not shown on a terminal: name one with -o")
	}
	if _, err := os.Lstat(c.Out); c.Out != "" && !errors.Is(err, os.ErrNotExist) {
		return usage("%s is there already", c.Out)
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	s.typedID = true
	if c.Out == "" {
		_, err := p.Download(s.ctx, sum, s.out)
		return err
	}
	got, err := c.save(s, p, sum)
	if err != nil {
		return err
	}
	if s.line.JSON {
		return s.print(artifactViewOf(got))
	}
	s.sayf("%s  %d bytes", c.Out, got.GetSize())
	return nil
}

// save gives the file its name once all of it is there and right.
func (c artifactGetCommand) save(s *session, p *beckon.Person, sum []byte) (*v1.Artifact, error) {
	part, err := os.CreateTemp(filepath.Dir(c.Out), ".beckon-*.part") // made with 0600
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(part.Name()) }() // gone already, if all went well
	got, err := p.Download(s.ctx, sum, part)
	if err := errors.Join(err, part.Close()); err != nil {
		return nil, err
	}
	return got, os.Rename(part.Name(), c.Out)
}

type artifactPutCommand struct {
	File string `arg:""                                                         help:"The file; - is standard input."`
	Name string `help:"What to call it; the file's own name otherwise."         placeholder:"NAME"`
	Type string `help:"What it is, such as text/x-diff; by its name otherwise." placeholder:"TYPE"`
}

// Run uploads a file to the task around it.
func (c artifactPutCommand) Run(s *session) error {
	path := os.Getenv(beckon.EnvTaskFile)
	if path == "" {
		return usage("there is no task: use it inside 'beckon run'")
	}
	var body io.Reader = s.in
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return usage("%v", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		body = file
		if c.Name == "" {
			c.Name = filepath.Base(c.File)
		}
	}
	if c.Type == "" {
		c.Type, _, _ = mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(c.Name)))
	}
	w, err := beckon.OpenTask(path, s.options())
	if err != nil {
		return err
	}
	defer w.API().Close()
	got, err := w.Upload(s.ctx, c.Name, c.Type, body)
	if err != nil {
		return err
	}
	if s.line.JSON {
		return s.print(artifactViewOf(got))
	}
	s.sayf("%s", artifactViewOf(got).SHA256)
	return nil
}
