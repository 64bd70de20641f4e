#!/usr/bin/env python3
"""What gpumedic watch costs, and how soon it tells, on a machine with a GPU.

  CGO_ENABLED=0 go build -o /tmp/gpumedic ./cmd/gpumedic
  sudo python3 bench/watch_gpu.py /tmp/gpumedic [SECONDS] [NODE_EXPORTER]

It starts the daemon with a webhook to itself, measures CPU and memory from /proc for some
time beside node_exporter (where one is given), then runs a faulty CUDA program 20 times:
from the moment the kernel's line can be read to the incident in the API and to the webhook.
Root is needed for the kernel log, Python alone for the rest (the CUDA driver through ctypes).

With 120 seconds it takes less than 4 minutes: 30 s until the start is over, the measurement,
and 2 to 3 s for each faulty program. Of memory it shows what is resident (RSS), the share of
it with pages that others have too counted in part (PSS), and what is of the process alone
(anon). The child's time second by second tells what a reading of each second costs (p50) and
one of all that decides fitness (the highest).
"""
import subprocess,os,time,json,threading,http.server,urllib.request,select,sys,re,statistics,signal
G=os.path.abspath(sys.argv[1]); N=int(sys.argv[2]) if len(sys.argv)>2 else 120; NE=sys.argv[3] if len(sys.argv)>3 else None
OUT=os.environ.get('OUT','/tmp')
os.makedirs('/tmp/w/bin',exist_ok=True)
hooks=[]
class H(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        t=time.monotonic(); b=self.rfile.read(int(self.headers.get('Content-Length',0))); self.send_response(200); self.end_headers()
        hooks.append((t,b.decode()))
    def log_message(self,*a): pass
srv=http.server.ThreadingHTTPServer(('127.0.0.1',9000),H); threading.Thread(target=srv.serve_forever,daemon=True).start()
open('/tmp/w/watch.yaml','w').write('''store: /tmp/w/incidents.db
notifications:
  channels:
    - name: hook
      type: webhook
      url: http://127.0.0.1:9000/hook
''')
r=subprocess.run([G,'watch','--config','/tmp/w/watch.yaml','--print-config'],capture_output=True,text=True)
if r.returncode: sys.exit(r.stderr)
log=open(OUT+'/watch.log','w')
w=subprocess.Popen([G,'watch','--config','/tmp/w/watch.yaml'],stdout=log,stderr=log)
ne=NE and subprocess.Popen([NE,'--web.listen-address=127.0.0.1:9100'],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL)
def get(p,port=9532):
    try: return urllib.request.urlopen('http://127.0.0.1:%d%s'%(port,p),timeout=2).read().decode()
    except Exception as e: return 'ERR '+str(e)
t0=time.monotonic()
while time.monotonic()-t0<20:
    s=get('/metrics')
    if 'gpumedic_gpu_memory' in s: break
    time.sleep(.1)
print('ready after %.2f s'%(time.monotonic()-t0))
# overhead
def tree(pid):
    out=[pid]
    for t in os.listdir('/proc/%d/task'%pid):
        try:
            for k in open('/proc/%d/task/%s/children'%(pid,t)).read().split(): out+=tree(int(k))
        except OSError: pass
    return out
def ns(pid): # processor time
    try: return sum(int(open('/proc/%d/task/%s/schedstat'%(pid,t)).read().split()[0]) for t in os.listdir('/proc/%d/task'%pid))
    except (OSError,IndexError):
        f=open('/proc/%d/stat'%pid).read().rsplit(')',1)[1].split(); return (int(f[11])+int(f[12]))*10**9//os.sysconf('SC_CLK_TCK')
def switches(pid):
    n=0
    for t in os.listdir('/proc/%d/task'%pid):
        try: n+=sum(int(x) for x in re.findall(r'ctxt_switches:\s+(\d+)',open('/proc/%d/task/%s/status'%(pid,t)).read()))
        except OSError: pass
    return n
def name(pid):
    a=open('/proc/%d/cmdline'%pid).read().split('\0'); return ' '.join(a[:3])[-44:].strip()
def memory(pid):
    try: t=open('/proc/%d/smaps_rollup'%pid).read()
    except OSError: t=open('/proc/%d/status'%pid).read().replace('VmRSS','Rss').replace('RssAnon','Anonymous')
    g=lambda k: (lambda m: int(m[1])/1024 if m else 0)(re.search(r'^%s:\s+(\d+)'%k,t,re.M))
    return g('Rss'),g('Pss'),g('Anonymous')
time.sleep(max(0,30-(time.monotonic()-t0))) # the start is over, and what only it needed was given back
watched=[p for p in sorted(set(tree(w.pid)))]+([ne.pid] if ne else [])
child=[p for p in watched if 'nvml-follow' in name(p)]
before={p:(ns(p),switches(p)) for p in watched};t=time.monotonic();sc=[];sn=[];steps=[];last=child and ns(child[0])
n=0
while time.monotonic()-t<N:
    if n%15==0: # as Prometheus does
        for port,l in ((9532,sc),(9100,sn)) if ne else ((9532,sc),):
            x=time.monotonic();get('/metrics',port);l.append((time.monotonic()-x)*1000)
    n+=1; time.sleep(max(0,t+n-time.monotonic()))
    if child:
        now=ns(child[0]); steps.append((now-last)/1e6); last=now
dt=time.monotonic()-t;total=0
for p in watched:
    try: c=(ns(p)-before[p][0])/dt/1e7; r=memory(p); sw=(switches(p)-before[p][1])/dt; label=name(p)
    except OSError: print('ended:',p); continue
    if not (ne and p==ne.pid): total+=c
    print('%-46s RSS %5.1f MiB, PSS %5.1f, anon %5.1f; CPU %.3f %% of a core; %.1f switches/s'%(label,r[0],r[1],r[2],c,sw))
print('the daemon and its children: CPU %.3f %% of a core over %.0f s'%(total,dt))
q=lambda l,p: sorted(l)[min(len(l)-1,int(len(l)*p))]
if steps: print('child, ms a second: p50 %.2f p90 %.2f highest %.2f, mean %.2f'%(q(steps,.5),q(steps,.9),max(steps),sum(steps)/len(steps)))
print('scrape ms: watch p50 %.2f p99 %.2f'%(q(sc,.5),q(sc,.99)))
if ne: print('scrape ms: node_exporter p50 %.2f p99 %.2f'%(q(sn,.5),q(sn,.99)))
burst=[]
for i in range(200):
    x=time.monotonic();get('/metrics');burst.append((time.monotonic()-x)*1000)
print('scrape x200: p50 %.2f p99 %.2f ms'%(q(burst,.5),q(burst,.99)))
# latency
oob=r'''
import ctypes,sys
ctypes.CDLL(None).prctl(15,sys.argv[1].encode(),0,0,0)
c=ctypes.CDLL('libcuda.so.1'); c.cuInit(0); d=ctypes.c_int(); c.cuDeviceGet(ctypes.byref(d),0); x=ctypes.c_void_p()
c.cuDevicePrimaryCtxRetain(ctypes.byref(x),d); c.cuCtxSetCurrent(x)
ptx=b""".version 6.4
.target sm_50
.address_size 64
.visible .entry k(){ .reg .b64 %rd<2>; .reg .b32 %r<2>; mov.u64 %rd1, 0x7f0000001000; mov.u32 %r1, 7; st.global.u32 [%rd1], %r1; ret; }
\0"""
m=ctypes.c_void_p(); c.cuModuleLoadData(ctypes.byref(m),ptx); f=ctypes.c_void_p(); c.cuModuleGetFunction(ctypes.byref(f),m,b"k")
c.cuLaunchKernel(f,1,1,1,32,1,1,0,None,None,None); c.cuCtxSynchronize()
'''
open('/tmp/w/oob.py','w').write(oob)
seen=[]
def kmsg():
    fd=os.open('/dev/kmsg',os.O_RDONLY|os.O_NONBLOCK); os.lseek(fd,0,os.SEEK_END)
    while True:
        select.select([fd],[],[],1)
        try:
            r=os.read(fd,8192).decode(errors='replace')
            if 'Xid' in r: seen.append((time.monotonic(),r))
        except (BlockingIOError,BrokenPipeError): pass
threading.Thread(target=kmsg,daemon=True).start()
time.sleep(.3)
api=[];hook=[];metric=[];bad=0
for i in range(20):
    name='trainer%02d'%i
    n=len(seen);h=len(hooks)
    p=subprocess.Popen([sys.executable,'/tmp/w/oob.py',name],stdout=subprocess.DEVNULL,stderr=subprocess.PIPE)
    end=time.monotonic()+6; ta=tm=None
    while time.monotonic()<end:
        if len(seen)>n:
            t0=seen[n][0]
            if ta is None and name in get('/api/v1/incidents'): ta=time.monotonic()
            hk=[t for t,b in hooks[h:] if name in b]
            if ta and hk: break
        time.sleep(.001)
    p.wait()
    if len(seen)<=n or ta is None or not hk:
        bad+=1; print('run',i,'seen',len(seen)-n,'api',ta,'hook',len(hooks)-h, p.stderr.read()[-200:]); continue
    api.append((ta-t0)*1000); hook.append((hk[0]-t0)*1000)
print('latency ms over %d runs (bad %d): api p50 %.1f max %.1f; webhook p50 %.1f max %.1f'%(len(api),bad,q(api,.5),max(api),q(hook,.5),max(hook)) if api else 'no latency')
print('api',[round(x,1) for x in api]); print('hook',[round(x,1) for x in hook])
w.send_signal(signal.SIGTERM); print('daemon ended with',w.wait(10))
if ne: ne.kill()
